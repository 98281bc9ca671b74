# The HTTP server, REST and MCP: docker run -p 127.0.0.1:7878:7878 -v gligabao:/data gligabao-mcp
# Beyond the container every request needs a token: docker run --rm -v gligabao:/data gligabao-mcp token create --user me
FROM python:3.13-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY core core
COPY storage storage
COPY gligabao_mcp gligabao_mcp
RUN python -m venv /opt/gligabao \
 && /opt/gligabao/bin/pip install --no-cache-dir --disable-pip-version-check '.[local,postgres]'

FROM python:3.13-slim
COPY --from=build /opt/gligabao /opt/gligabao
RUN useradd --uid 10001 --no-create-home --home-dir /data --shell /usr/sbin/nologin gligabao \
 && install -d -o gligabao -g gligabao -m 0700 /data
ENV PATH=/opt/gligabao/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    GLIGABAO_HOME=/data \
    GLIGABAO_HOST=0.0.0.0
USER 10001
VOLUME /data
EXPOSE 7878
HEALTHCHECK --start-period=30s --interval=30s --timeout=5s \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:7878/healthz', timeout=4)"]
ENTRYPOINT ["gligabao"]
CMD ["serve"]
