#!/usr/bin/env bash
# Installs Annal with Docker, or upgrades an installation if it is run again. It prompts for settings, or takes options and --yes.
# It writes docker-compose.yml and .env into the install directory, and nothing elsewhere except the data directory.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here
readonly disk_kb_min=2000000 token_length_min=16 insecure_token=unsafe_root_token

usage() {
  cat <<'TEXT'
usage: install.sh [install] [options]     install, or upgrade an installation
       install.sh uninstall [options]     stop and remove the containers; data is kept

  --yes                no prompts; use options and defaults
  --dir DIR            install directory                  (~/annal)
  --data DIR           data directory on this machine     (~/data)
  --token TOKEN        root token; also ANNAL_ROOT_TOKEN  (default: generated)
  --port PORT          port of the API                    (8080)
  --web-port PORT      port of the dashboard              (8081)
  --bind ADDRESS       listening address of both          (127.0.0.1; 0.0.0.0 for all)
  --image IMAGE        image of the server                (annal/server:latest)
  --web-image IMAGE    image of the dashboard             (annal/web:latest)
  --build              build both images from this checkout instead of pulling them
  --no-pull            use the local images
  --no-trial           do not start the trial month       (writes then need a license)
  --wait SECONDS       time to wait until healthy         (300)
TEXT
}

# Messages go to standard error. Standard output stays empty.
say() { printf '%s\n' "$*" >&2; }
step() { printf '\n==> %s\n' "$*" >&2; }
die() {
  printf 'install.sh: %s\n' "$*" >&2
  exit 1
}

action=install yes=no build=no pull=yes trial=yes wait_s=300
dir='' data='' token=${ANNAL_ROOT_TOKEN:-} port='' web_port='' bind='' image='' web_image=''

parse() {
  while [ $# -gt 0 ]; do
    case $1 in
      install | uninstall) action=$1 ;;
      --yes | -y) yes=yes ;;
      --build) build=yes ;;
      --no-pull) pull=no ;;
      --no-trial) trial=no ;;
      --help | -h)
        usage
        exit 0
        ;;
      --dir | --data | --token | --port | --web-port | --bind | --image | --web-image | --wait)
        [ $# -ge 2 ] || die "$1 needs a value"
        option=${1#--}
        option=${option//-/_}
        [ "$option" = wait ] && option=wait_s
        printf -v "$option" '%s' "$2"
        shift
        ;;
      *)
        usage >&2
        die "unknown option $1"
        ;;
    esac
    shift
  done
}

# ask VARIABLE PROMPT DEFAULT: prompts for a value, unless an option has set it.
ask() {
  local -n answer=$1
  [ -n "$answer" ] && return
  if [ "$yes" = no ]; then
    local typed
    read -r -p "$2 [$3]: " typed || die 'no answer; --yes takes the defaults'
    answer=$typed
  fi
  [ -n "$answer" ] || answer=$3
}

absolute() { realpath -m -- "${1/#\~/$HOME}"; }

# Prints the value of a name in the .env file that this script wrote, which has one NAME='value' per line.
kept() { sed -n "s/^$1='\(.*\)'\$/\1/p" "$dir/.env"; }

check_port() {
  if [[ ! $2 =~ ^[1-9][0-9]{0,4}$ ]] || [ "$2" -gt 65535 ]; then die "$1 $2 is not a port"; fi
}

check_free() {
  if (exec 3<>"/dev/tcp/127.0.0.1/$2") 2>/dev/null; then die "port $2 is in use by another program; choose another with $1"; fi
}

check_token() {
  [ "$token" != "$insecure_token" ] || die "the root token $insecure_token is publicly known; choose another, or leave it empty to generate one"
  [ ${#token} -ge $token_length_min ] || die "the root token is shorter than $token_length_min characters and can be guessed"
  [[ $token =~ ^[A-Za-z0-9._~+/=:@%-]+$ ]] || die 'the root token may contain only letters, digits, and . _ ~ + / = : @ % -'
}

check_docker() {
  command -v docker >/dev/null || die 'docker is not installed: https://docs.docker.com/engine/install/'
  docker version >/dev/null 2>&1 || die "docker does not respond: is it running, and does $(id -un) have permission to use it (group docker)?"
  docker compose version >/dev/null 2>&1 || die 'docker has no compose plugin: https://docs.docker.com/compose/install/'
}

existing_parent() {
  local at=$1
  while [ ! -e "$at" ]; do at=$(dirname "$at"); done
  printf '%s' "$at"
}

check_place() {
  local at
  at=$(existing_parent "$2")
  if [ ! -d "$at" ] || [ ! -w "$at" ]; then die "$1 $2 cannot be used: $(id -un) has no permission to write in $at"; fi
}

check_disk() {
  local free
  free=$(df -Pk "$(existing_parent "$data")" | awk 'NR == 2 { print $4 }')
  [ "$free" -ge "$1" ] || die "$data has $((free / 1000)) MB free, but needs $(($1 / 1000)) MB"
}

make_token() { od -An -v -tx1 -N32 /dev/urandom | tr -d ' \n'; }

compose() { docker compose --project-directory "$dir" "$@"; }

# The data directory belongs to the user who runs the script. Root gives it to the user of the image, because nothing runs as root.
user_of_data() {
  if [ "$(id -u)" = 0 ]; then printf '1000:1000'; else printf '%s:%s' "$(id -u)" "$(id -g)"; fi
}

write_env() {
  local part=$dir/.env.part added=''
  # Keep settings that were added by hand.
  [ ! -f "$dir/.env" ] || added=$(grep -Ev '^(#|ANNAL_|NDD_ROOT_TOKEN=)' "$dir/.env" || true)
  (
    umask 077
    cat >"$part" <<TEXT
# Written by install.sh; contains the root token. You can add NDD_ settings; the server reads them at its next start.
ANNAL_PROJECT='$(basename "$dir" | tr -cd 'a-z0-9_-' | sed 's/^[^a-z0-9]*//; s/^$/annal/')'
ANNAL_SERVER_IMAGE='$image'
ANNAL_WEB_IMAGE='$web_image'
ANNAL_DATA_DIR='$data'
ANNAL_BIND='$bind'
ANNAL_API_PORT='$port'
ANNAL_WEB_PORT='$web_port'
ANNAL_USER='$(user_of_data)'
NDD_ROOT_TOKEN='$token'
$added
TEXT
  )
  chmod 600 "$part"
  mv "$part" "$dir/.env"
}

write_files() {
  mkdir -p "$dir"
  [ -d "$data" ] || (umask 077 && mkdir -p "$data")
  [ "$(id -u)" != 0 ] || chown "$(user_of_data)" "$data"
  cp "$here/docker-compose.yml" "$dir/docker-compose.yml"
  write_env
}

get_images() {
  local name
  if [ "$build" = yes ]; then
    [ -f "$here/../package.json" ] || die '--build needs a checkout of the repository around this script'
    step 'Building the images'
    local registry=()
    [ -z "${NPM_CONFIG_REGISTRY:-}" ] || registry=(--build-arg "NPM_CONFIG_REGISTRY=$NPM_CONFIG_REGISTRY")
    docker build --network host "${registry[@]}" -f "$here/server.Dockerfile" -t "$image" "$here/.."
    docker build -f "$here/web.Dockerfile" --build-arg "SERVER_IMAGE=$image" -t "$web_image" "$here"
  elif [ "$pull" = yes ]; then
    step 'Pulling the images'
    for name in "$image" "$web_image"; do
      docker pull "$name" || die "$name could not be pulled; --no-pull uses the local images, --build builds them"
    done
  fi
  for name in "$image" "$web_image"; do
    docker image inspect "$name" >/dev/null 2>&1 || die "there is no local image $name"
  done
}

# Waits until both containers are healthy. On a terminal, it shows the elapsed time.
wait_healthy() {
  local began=$SECONDS service id state
  for service in server web; do
    while :; do
      id=$(compose ps -aq "$service")
      state=$(docker inspect -f '{{.State.Status}}/{{if .State.Health}}{{.State.Health.Status}}{{end}}' "$id" 2>/dev/null || true)
      [ "$state" != running/healthy ] || break
      if [ $((SECONDS - began)) -ge "$wait_s" ]; then
        [ ! -t 2 ] || printf '\r\e[K' >&2
        say "$service is ${state:-missing} after $wait_s s; last log lines:"
        compose logs --tail 20 "$service" >&2 || true
        return 1
      fi
      [ ! -t 2 ] || printf '\r\e[K    %s: %s, %s s' "$service" "${state#*/}" "$((SECONDS - began))" >&2
      sleep 1
    done
  done
  [ ! -t 2 ] || printf '\r\e[K' >&2
  say "    healthy after $((SECONDS - began)) s"
}

start() {
  step 'Starting'
  compose up -d --remove-orphans --quiet-pull >&2 || return 1
  wait_healthy
}

tell() {
  local host=$bind
  case $bind in 0.0.0.0 | 127.0.0.1 | '') host=localhost ;; esac
  cat >&2 <<TEXT

Annal is running.
  API         http://$host:$port/api/v2
  Dashboard   http://$host:$web_port
  Data        $data
  Root token  in $dir/.env (readable by you only)

In $dir: docker compose logs -f, docker compose ps, docker compose down.
Upgrade: run this script again. Uninstall: install.sh uninstall --dir $dir
TEXT
  [ "$bind" != 127.0.0.1 ] || say 'Only this machine can connect. --bind 0.0.0.0 listens on all addresses; use a TLS proxy.'
}

install() {
  ask data 'Host data directory' "$HOME/data"
  ask port 'Server (API) port' 8080
  ask web_port 'Web UI port' 8081
  if [ -z "$token" ] && [ "$yes" = no ]; then
    read -r -s -p 'Root token (empty: generate one): ' token || die 'no answer; --yes takes the defaults'
    say ''
  fi
  [ -n "$token" ] || token=$(make_token)
  : "${bind:=127.0.0.1}" "${image:=annal/server:latest}" "${web_image:=annal/web:latest}"
  data=$(absolute "$data")
  step 'Checking'
  check_token
  check_port --port "$port"
  check_port --web-port "$web_port"
  [ "$port" != "$web_port" ] || die "--port and --web-port are both $port"
  check_docker
  check_free --port "$port"
  check_free --web-port "$web_port"
  check_place --dir "$dir"
  check_place --data "$data"
  check_disk $disk_kb_min
  get_images
  write_files
  start || die "Annal did not become healthy. Nothing was removed: fix the problem in the log, then run this script again. $dir/.env has the settings"
  [ "$trial" = no ] || begin_trial
  tell
}

# Starts the trial month of a new deployment and prints the reply of the server. A directory that has used its trial is not changed.
begin_trial() {
  step 'License'
  # shellcheck disable=SC2016 # The program is for node, not for this shell.
  compose exec -T server node -e '
    const headers = { "Content-Type": "application/json", Authorization: `Bearer ${process.env.NDD_ROOT_TOKEN}` }
    const body = JSON.stringify({ email: "installer@localhost.localdomain" })
    fetch("http://127.0.0.1:8080/api/v2/license/generate", { method: "POST", headers, body })
      .then((reply) => reply.json())
      .then(({ message, error }) => console.error(`    ${message ?? error}`))' >&2 ||
    say '    the trial month could not be started; start it in the dashboard'
}

upgrade() {
  step "Upgrading the installation in $dir"
  local old_image old_web backup
  check_docker
  data=$(kept ANNAL_DATA_DIR)
  token=$(kept NDD_ROOT_TOKEN)
  : "${port:=$(kept ANNAL_API_PORT)}" "${web_port:=$(kept ANNAL_WEB_PORT)}" "${bind:=$(kept ANNAL_BIND)}"
  : "${image:=$(kept ANNAL_SERVER_IMAGE)}" "${web_image:=$(kept ANNAL_WEB_IMAGE)}"
  # By content, because the names may refer to the new images after the pull.
  old_image=$(image_of server ANNAL_SERVER_IMAGE)
  old_web=$(image_of web ANNAL_WEB_IMAGE)
  check_disk $(($(du -sk "$data" | cut -f1) + disk_kb_min))
  get_images
  step 'Backing up the data directory'
  # After a clean stop, the directory is complete and does not change during the copy.
  compose stop --timeout 120 >&2
  backup=$data.before-$(date -u +%Y%m%dT%H%M%SZ)
  cp -a --reflink=auto "$data" "$backup.part"
  mv "$backup.part" "$backup"
  say "    $backup"
  write_files
  if start; then
    tell
    say "A copy of the data before the upgrade is in $backup. Remove it when the upgrade works."
    return
  fi
  roll_back "$old_image" "$old_web" "$backup"
}

# Prints the image of the container of a service, by its digest. Without a container, it prints the image of the settings.
image_of() {
  local id
  id=$(compose ps -aq "$1")
  if [ -n "$id" ]; then docker inspect -f '{{.Image}}' "$id"; else kept "$2"; fi
}

# First keeps the current data, so that nothing acknowledged is lost. Uses the copy only if the old version cannot read the data.
roll_back() {
  step 'Rolling back'
  image=$1 web_image=$2
  write_env
  if ! start; then
    compose stop --timeout 120 >&2
    mv "$data" "$data.after-upgrade-$(date -u +%Y%m%dT%H%M%SZ)"
    cp -a --reflink=auto "$3" "$data"
    start || die "the previous version does not become healthy either; its data is in $3"
    die "the upgrade failed and was rolled back to the copy of the data; the data of the new version is next to $data"
  fi
  die 'the upgrade failed and was rolled back; see the log above'
}

uninstall() {
  [ -f "$dir/.env" ] || die "nothing is installed in $dir"
  check_docker
  data=$(kept ANNAL_DATA_DIR)
  compose down --remove-orphans --timeout 120 >&2
  rm -f "$dir/.env" "$dir/docker-compose.yml"
  rmdir "$dir" 2>/dev/null || true
  say "Annal is uninstalled. All data is kept in $data"
}

parse "$@"
ask dir 'Install directory' "$HOME/annal"
dir=$(absolute "$dir")
if [ "$action" = uninstall ]; then
  uninstall
elif [ -f "$dir/.env" ]; then
  upgrade
else
  install
fi
