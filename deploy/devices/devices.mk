# What the device tests need beside Debian's chromium and chromium-driver; versions stand in package.json and its lock.
APPIUM := $(TOOLS)/appium

devices: venv proto $(APPIUM)/.ready ## Tests on a real Appium server and on real headless Chromium
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
