# The dashboard in its own container. It is the image of the server with another command, so both share their layers on disk:
#   docker build -f docker/web.Dockerfile --build-arg SERVER_IMAGE=annal/server -t annal/web docker
ARG SERVER_IMAGE=annal/server
FROM ${SERVER_IMAGE}
ENV NDD_SERVER_URL=http://server:8080 ANNAL_DASHBOARD_HOST=0.0.0.0 ANNAL_DASHBOARD_PORT=8081
EXPOSE 8081
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --start-interval=1s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.ANNAL_DASHBOARD_PORT}/health`).then(r => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
CMD ["dashboard"]
