# Tools of the device tests besides Debian's chromium and chromium-driver; their versions are in package.json.
APPIUM := $(TOOLS)/appium

AXE_VERSION := 4.14.1
AXE := $(TOOLS)/axe/node_modules/axe-core/axe.min.js

devices: venv proto $(APPIUM)/.ready ## Run the device tests on a real Appium server and headless Chromium
	$(BIN)/pytest -n $(WORKERS) --dist loadgroup tests/devices

dashboard: $(AXE)

$(AXE):
	npm install --silent --no-fund --no-audit --prefix $(TOOLS)/axe axe-core@$(AXE_VERSION)

fault: $(APPIUM)/.ready

$(APPIUM)/.ready: deploy/devices/package.json deploy/devices/package-lock.json
	@for program in npm chromium chromedriver; do command -v $$program >/dev/null || \
		{ echo "The device tests need $$program; on Debian: apt-get install npm chromium chromium-driver"; exit 1; }; done
	rm -rf $(APPIUM) && mkdir -p $(APPIUM)
	cp deploy/devices/package.json deploy/devices/package-lock.json $(APPIUM)
	npm ci --silent --no-fund --no-audit --ignore-scripts --prefix $(APPIUM)
	touch $@

.PHONY: devices
