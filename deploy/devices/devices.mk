# Tools of the device tests besides Debian's chromium and chromium-driver; their versions are in package.json.
APPIUM := $(TOOLS)/appium

devices: venv proto $(APPIUM)/.ready ## Run the device tests on a real Appium server and headless Chromium
	$(BIN)/pytest -n 2 --dist loadgroup tests/devices

fault: $(APPIUM)/.ready

$(APPIUM)/.ready: deploy/devices/package.json deploy/devices/package-lock.json
	@for program in npm chromium chromedriver; do command -v $$program >/dev/null || \
		{ echo "The device tests need $$program; on Debian: apt-get install npm chromium chromium-driver"; exit 1; }; done
	rm -rf $(APPIUM) && mkdir -p $(APPIUM)
	cp deploy/devices/package.json deploy/devices/package-lock.json $(APPIUM)
	npm ci --silent --no-fund --no-audit --ignore-scripts --prefix $(APPIUM)
	touch $@

.PHONY: devices
