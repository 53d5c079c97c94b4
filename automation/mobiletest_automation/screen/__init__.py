"""One model of screens for every driver: elements, outline, fingerprint, locators and page sources."""
