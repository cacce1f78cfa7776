# syntax=docker/dockerfile:1.12

# The programs of Braid as two images: `service` (also for `braid maintain` and all commands for tables), and `runner`,
# which adds Java, Spark and their jars. The compose file at the top runs both.
#
#   docker build --target service --tag braid-service .
#   docker build --target runner --tag braid-runner .

ARG PYTHON_IMAGE=python:3.12.8-slim-bookworm

# --- builders: wheels and environments, which the images copy ----------------------------------

FROM ${PYTHON_IMAGE} AS wheel
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY backfill backfill
COPY braid braid
COPY client client
COPY demo demo
COPY formats formats
COPY lake lake
COPY pipelines pipelines
COPY records records
COPY registry registry
COPY schemas schemas
COPY service service
COPY telemetry telemetry
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /dist .

FROM ${PYTHON_IMAGE} AS environment
RUN python -m venv /opt/braid
ENV PATH=/opt/braid/bin:$PATH PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
COPY constraints.txt /tmp/constraints.txt
COPY --from=wheel /dist /dist

FROM environment AS service-environment
RUN pip install --constraint /tmp/constraints.txt "$(ls /dist/*.whl)[service]" && pip uninstall --yes pip

FROM environment AS runner-environment
RUN pip install --constraint /tmp/constraints.txt "$(ls /dist/*.whl)[spark]" && pip uninstall --yes pip

# --- service -----------------------------------------------------------------------------------

FROM ${PYTHON_IMAGE} AS service
RUN useradd --system --uid 10001 --create-home --home-dir /var/lib/braid braid
COPY --from=service-environment /opt/braid /opt/braid
ENV PATH=/opt/braid/bin:$PATH PYTHONUNBUFFERED=1
USER 10001
WORKDIR /var/lib/braid
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8080/ready', timeout=4)"]
ENTRYPOINT ["braid"]
CMD ["service", "--help"]

# --- runner ------------------------------------------------------------------------------------

FROM ${PYTHON_IMAGE} AS runner
RUN apt-get update \
  && apt-get install --yes --no-install-recommends openjdk-17-jre-headless \
  && rm -rf /var/lib/apt/lists/* \
  && useradd --system --uid 10001 --create-home --home-dir /var/lib/braid braid
COPY --from=runner-environment /opt/braid /opt/braid
ENV PATH=/opt/braid/bin:$PATH PYTHONUNBUFFERED=1 BRAID_JARS=/opt/braid-jars
# The jars, and the classes of Spark's JVM as it has them in memory: a runner then starts five seconds faster.
RUN braid prepare && chmod --recursive a+rX /opt/braid-jars
USER 10001
WORKDIR /var/lib/braid
ENTRYPOINT ["braid"]
CMD ["runner", "--help"]
