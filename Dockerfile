# An image with the command `a2a-adapters`. Mount your code at /agents:
#
#     docker build --tag a2a-adapters .
#     docker run --rm -p 127.0.0.1:8000:8000 -v "$PWD:/agents:ro" \
#         -e A2A_ADAPTERS_BEARER_TOKENS='ann: secret' a2a-adapters serve app:book
#
# For a framework, add `--build-arg EXTRAS=langchain,postgresql`. deploy/ has an image with agents inside.
FROM python:3.13-slim AS build
WORKDIR /source
COPY . .
ARG EXTRAS=grpc,mcp,metrics,postgresql,sqlite
RUN python -m venv /opt/a2a-adapters \
    && /opt/a2a-adapters/bin/pip install --no-cache-dir --constraint constraints.txt ".[$EXTRAS]"

FROM python:3.13-slim
COPY --from=build /opt/a2a-adapters /opt/a2a-adapters
RUN useradd --uid 10001 --user-group --create-home agents
ENV PATH=/opt/a2a-adapters/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    A2A_ADAPTERS_HOST=0.0.0.0
WORKDIR /agents
# By its number, by which Kubernetes tells that it is not root.
USER 10001:10001
EXPOSE 8000
HEALTHCHECK --interval=10s --start-period=30s \
    CMD ["python", "-c", "import os, urllib.request as u; u.urlopen('http://127.0.0.1:' + (os.getenv('A2A_ADAPTERS_PORT') or os.getenv('PORT') or '8000') + '/healthz')"]
ENTRYPOINT ["a2a-adapters"]
CMD ["--help"]
