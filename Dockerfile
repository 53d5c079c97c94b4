# One image for all services; which one a container runs is its command:
#
#     docker build --tag mobiletest:dev .
#     docker run ... mobiletest:dev python -m services.catalog
#
# BASE_IMAGE needs Python 3.11 as `python`, with venv; a machine without a registry makes one (deploy/images/build.sh).
ARG BASE_IMAGE=python:3.11-slim-bookworm

FROM ${BASE_IMAGE} AS build
WORKDIR /src
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
RUN python -m venv /opt/build && python -m venv --without-pip /opt/venv
# requirements.lock pins every dependency group with hashes. server_lock.py takes the servers' part out of it, so there
# is one lock and yet no test tool in the image; pip then refuses whatever does not have the lock's hash.
COPY pyproject.toml requirements.lock ./
COPY deploy/images/server_lock.py deploy/images/
RUN /opt/build/bin/python deploy/images/server_lock.py >server.lock \
    && /opt/build/bin/pip --python /opt/venv/bin/python install \
        --require-hashes --no-deps --only-binary=:all: --requirement server.lock
RUN /opt/build/bin/python deploy/images/server_lock.py build >build.lock \
    && /opt/build/bin/pip install --require-hashes --no-deps --only-binary=:all: --requirement build.lock
COPY protos protos
RUN /opt/build/bin/python protos/generate.py
COPY automation automation
COPY services services
COPY cli cli
RUN cd cli && /opt/build/bin/hatchling build --target wheel --directory ../gen/wheels
# The root file system is read-only where this runs, so the script engine and the bytecode are compiled here.
RUN /opt/venv/bin/python -m compileall -q -j 0 --invalidation-mode unchecked-hash services automation gen /opt/venv \
    && PYTHONPATH=automation /opt/venv/bin/python -m mobiletest_automation.scripting.guest

FROM ${BASE_IMAGE}
ARG VERSION=0.2.0
LABEL org.opencontainers.image.title="mobiletest" org.opencontainers.image.version="${VERSION}"
RUN groupadd --gid 10001 mobiletest \
    && useradd --uid 10001 --gid 10001 --home-dir /app --no-create-home --shell /usr/sbin/nologin mobiletest \
    && install --directory --owner 10001 --group 10001 /var/lib/mobiletest
COPY --from=build /opt/venv /opt/venv
COPY --from=build /src/services /app/services
COPY --from=build /src/automation /app/automation
COPY --from=build /src/gen /app/gen
ENV PATH=/opt/venv/bin:$PATH PYTHONPATH=/app:/app/gen:/app/automation PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
    MOBILETEST_VERSION=${VERSION}
WORKDIR /app
USER 10001:10001
