#!/usr/bin/env bash
# Installs Annal with Docker, or upgrades what it installed: run it again. Asks what it needs, or takes options and --yes.
# Writes docker-compose.yml and .env into the install directory and nothing elsewhere but the data directory.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here
readonly disk_kb_min=2000000 token_length_min=16 insecure_token=unsafe_root_token

usage() {
  cat <<'TEXT'
usage: install.sh [install] [options]     installs, or upgrades what is installed
       install.sh uninstall [options]     stops and removes the containers; data stays

  --yes                ask nothing; options and defaults decide
  --dir DIR            install directory                  (~/annal)
  --data DIR           data directory on this machine     (~/data)
  --token TOKEN        root token; also ANNAL_ROOT_TOKEN  (a strong one is made)
  --port PORT          port of the API                    (8080)
  --web-port PORT      port of the dashboard              (8081)
  --bind ADDRESS       address both listen on             (127.0.0.1; 0.0.0.0 is everywhere)
  --image IMAGE        image of the server                (annal/server:latest)
  --web-image IMAGE    image of the dashboard             (annal/web:latest)
  --build              build both images from this checkout instead of pulling them
  --no-pull            take the images that are here
  --no-trial           do not begin the trial month       (a license is then needed to write)
  --wait SECONDS       how long to wait for health        (300)
TEXT
}

# What is told goes to standard error, so that standard output can be a token or nothing.
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
        die "there is no option $1"
        ;;
    esac
    shift
  done
}

# ask VARIABLE PROMPT DEFAULT: what was given as an option is not asked for.
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

# The value of a name in the .env that this script wrote, which holds one NAME='value' a line.
kept() { sed -n "s/^$1='\(.*\)'\$/\1/p" "$dir/.env"; }

check_port() {
  if [[ ! $2 =~ ^[1-9][0-9]{0,4}$ ]] || [ "$2" -gt 65535 ]; then die "$1 $2 is not a port"; fi
}

check_free() {
  if (exec 3<>"/dev/tcp/127.0.0.1/$2") 2>/dev/null; then die "port $2 is taken by another program; choose another with $1"; fi
}

check_token() {
  [ "$token" != "$insecure_token" ] || die "the root token $insecure_token is known to everybody; choose another, or none to have one made"
  [ ${#token} -ge $token_length_min ] || die "the root token is shorter than $token_length_min characters and can be guessed"
  [[ $token =~ ^[A-Za-z0-9._~+/=:@%-]+$ ]] || die 'the root token may hold letters, digits and . _ ~ + / = : @ % - only'
}

check_docker() {
  command -v docker >/dev/null || die 'docker is not installed: https://docs.docker.com/engine/install/'
  docker version >/dev/null 2>&1 || die "docker does not answer: is it running, and may $(id -un) use it (group docker)?"
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
  if [ ! -d "$at" ] || [ ! -w "$at" ]; then die "$1 $2 cannot be used: $(id -un) may not write in $at"; fi
}

check_disk() {
  local free
  free=$(df -Pk "$(existing_parent "$data")" | awk 'NR == 2 { print $4 }')
  [ "$free" -ge "$1" ] || die "$data has $((free / 1000)) MB free, $(($1 / 1000)) MB are needed"
}

make_token() { od -An -v -tx1 -N32 /dev/urandom | tr -d ' \n'; }

compose() { docker compose --project-directory "$dir" "$@"; }

# The data directory belongs to whoever installs; root gives it to the image's own user, since nothing runs as root.
user_of_data() {
  if [ "$(id -u)" = 0 ]; then printf '1000:1000'; else printf '%s:%s' "$(id -u)" "$(id -g)"; fi
}

write_env() {
  local part=$dir/.env.part added=''
  # Settings that somebody added stay.
  [ ! -f "$dir/.env" ] || added=$(grep -Ev '^(#|ANNAL_|NDD_ROOT_TOKEN=)' "$dir/.env" || true)
  (
    umask 077
    cat >"$part" <<TEXT
# Written by install.sh; holds the root token. NDD_ settings may be added; the server reads them at its next start.
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
      docker pull "$name" || die "$name could not be pulled; --no-pull takes the images that are here, --build makes them"
    done
  fi
  for name in "$image" "$web_image"; do
    docker image inspect "$name" >/dev/null 2>&1 || die "there is no image $name here"
  done
}

# Until both containers are healthy; says how long it has been on a terminal.
wait_healthy() {
  local began=$SECONDS service id state
  for service in server web; do
    while :; do
      id=$(compose ps -aq "$service")
      state=$(docker inspect -f '{{.State.Status}}/{{if .State.Health}}{{.State.Health.Status}}{{end}}' "$id" 2>/dev/null || true)
      [ "$state" != running/healthy ] || break
      if [ $((SECONDS - began)) -ge "$wait_s" ]; then
        [ ! -t 2 ] || printf '\r\e[K' >&2
        say "$service is ${state:-away} after $wait_s s; its last words:"
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
  [ "$bind" != 127.0.0.1 ] || say 'Only this machine reaches it; --bind 0.0.0.0 opens it, best behind TLS.'
}

install() {
  ask data 'Host data directory' "$HOME/data"
  ask port 'Server (API) port' 8080
  ask web_port 'Web UI port' 8081
  if [ -z "$token" ] && [ "$yes" = no ]; then
    read -r -s -p 'Root token (empty: a strong one is made): ' token || die 'no answer; --yes takes the defaults'
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
  start || die "it did not become healthy. Nothing was removed: mend what the log says, then run this script again. $dir/.env has the settings"
  [ "$trial" = no ] || begin_trial
  tell
}

# The month that every new deployment has. What the server says goes to whoever installs; a directory that had its month keeps what it has.
begin_trial() {
  step 'License'
  # shellcheck disable=SC2016 # The program is for node, not for this shell.
  compose exec -T server node -e '
    const headers = { "Content-Type": "application/json", Authorization: `Bearer ${process.env.NDD_ROOT_TOKEN}` }
    const body = JSON.stringify({ email: "installer@localhost.localdomain" })
    fetch("http://127.0.0.1:8080/api/v2/license/generate", { method: "POST", headers, body })
      .then((answer) => answer.json())
      .then(({ message, error }) => console.error(`    ${message ?? error}`))' >&2 ||
    say '    the trial month could not be begun; the dashboard can'
}

upgrade() {
  step "Upgrading what is in $dir"
  local old_image old_web backup
  check_docker
  data=$(kept ANNAL_DATA_DIR)
  token=$(kept NDD_ROOT_TOKEN)
  : "${port:=$(kept ANNAL_API_PORT)}" "${web_port:=$(kept ANNAL_WEB_PORT)}" "${bind:=$(kept ANNAL_BIND)}"
  : "${image:=$(kept ANNAL_SERVER_IMAGE)}" "${web_image:=$(kept ANNAL_WEB_IMAGE)}"
  # By content, since the names may soon mean the new ones.
  old_image=$(image_of server ANNAL_SERVER_IMAGE)
  old_web=$(image_of web ANNAL_WEB_IMAGE)
  check_disk $(($(du -sk "$data" | cut -f1) + disk_kb_min))
  get_images
  step 'Backing up the data directory'
  # Stopped in order, the directory is whole and does not change while it is copied.
  compose stop --timeout 120 >&2
  backup=$data.before-$(date -u +%Y%m%dT%H%M%SZ)
  cp -a --reflink=auto "$data" "$backup.part"
  mv "$backup.part" "$backup"
  say "    $backup"
  write_files
  if start; then
    tell
    say "The data as it was before is in $backup; remove it when all is well."
    return
  fi
  roll_back "$old_image" "$old_web" "$backup"
}

# The image that the container of a service was made of, by its digest; where there is no container, the one of the settings.
image_of() {
  local id
  id=$(compose ps -aq "$1")
  if [ -n "$id" ]; then docker inspect -f '{{.Image}}' "$id"; else kept "$2"; fi
}

# First with the data as it is now, so that nothing acknowledged is lost; with the copy only when the old version cannot read it.
roll_back() {
  step 'Rolling back'
  image=$1 web_image=$2
  write_env
  if ! start; then
    compose stop --timeout 120 >&2
    mv "$data" "$data.after-upgrade-$(date -u +%Y%m%dT%H%M%SZ)"
    cp -a --reflink=auto "$3" "$data"
    start || die "the version before does not become healthy either; its data is in $3"
    die "the upgrade failed and was rolled back, with the data as it was before; what the new version made is beside $data"
  fi
  die 'the upgrade failed and was rolled back; the log above says why'
}

uninstall() {
  [ -f "$dir/.env" ] || die "nothing is installed in $dir"
  check_docker
  data=$(kept ANNAL_DATA_DIR)
  compose down --remove-orphans --timeout 120 >&2
  rm -f "$dir/.env" "$dir/docker-compose.yml"
  rmdir "$dir" 2>/dev/null || true
  say "Annal is uninstalled. Everything stored stays in $data"
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
