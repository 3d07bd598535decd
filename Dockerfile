# The images of docker-compose.yml: "server" (web, dispatcher, recorder, migrate), "worker", and "worker-gpu".
# Packages come from the index that the build's pip is set up for. locks/ has their versions and hashes.
ARG PYTHON=3.13
FROM python:${PYTHON}-slim-trixie AS base
ARG PYTHON
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
# Under /opt, because a GPU process may read this folder, see docs/security.md.
WORKDIR /opt/tilelab
RUN useradd --uid 10001 --user-group --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin tilelab
# The only writable folder at run time: temporary files and compiled code.
ENV HOME=/tmp TMPDIR=/tmp XDG_CACHE_HOME=/tmp/cache

FROM base AS worker
COPY locks/${PYTHON}/worker.txt locks/
RUN pip install --require-hashes --only-binary :all: -r locks/worker.txt
COPY pyproject.toml LICENSE ./
COPY kernels kernels
COPY worker worker
RUN pip install --no-build-isolation --no-deps --editable . && python -m compileall -q kernels worker
USER 10001:10001
CMD ["tilelab", "worker", "start"]

FROM worker AS worker-gpu
USER 0:0
COPY locks/${PYTHON}/worker-gpu.txt locks/
RUN pip install --require-hashes --only-binary :all: -r locks/worker-gpu.txt
# NVIDIA's container runtime adds these to the container: the driver's CUDA part, and NVML.
ENV NVIDIA_DRIVER_CAPABILITIES=compute,utility
USER 10001:10001

FROM base AS server
COPY locks/${PYTHON}/run.txt locks/
RUN pip install --require-hashes --only-binary :all: -r locks/run.txt
COPY pyproject.toml LICENSE ./
COPY kernels kernels
COPY worker worker
COPY server server
COPY migrations migrations
RUN pip install --no-build-isolation --no-deps --editable . && python -m compileall -q kernels worker server migrations
USER 10001:10001
CMD ["tilelab", "serve", "web", "--host", "0.0.0.0"]
