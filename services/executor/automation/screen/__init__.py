"""One model of a screen, whatever the driver: elements, outline, fingerprint, locators and page sources."""
