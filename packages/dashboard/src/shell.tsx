// The frame around every page: navigation, the state of the server, and who is signed in.
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import { href } from './address.ts'
import { signOut } from './gate.ts'
import { licenseWarning } from './license-term.ts'
import mark from './mark.svg'
import { DatabasePicker } from './pages/databases/picker.tsx'
import { Page } from './pages.tsx'
import { Icon, type IconName } from './parts/icon.tsx'
import { Name } from './parts/stored.tsx'
import { visible } from './parts/visible.ts'
import { access } from './session.ts'
import { Shortcuts, showShortcuts } from './shortcuts.tsx'
import { count } from './show.ts'
import { nextTheme, theme } from './theme.ts'
import { collections, isClustered, serverHealth, serverInfo, watch } from './watch.ts'

export function Shell() {
  const [drawer, setDrawer] = useState(false)
  const main = useRef<HTMLElement>(null)
  const segments = useSegments()
  const key = access.value.kind === 'root' ? access.value.database : access.value.kind
  useEffect(watch, [key])
  const where = segments.slice(0, 3).join('/')
  const first = useRef(true)
  useEffect(() => {
    setDrawer(false)
    document.title = titleOf(segments)
    if (!first.current) main.current?.focus({ preventScroll: true })
    first.current = false
    scrollTo(0, 0)
  }, [where])
  return (
    <div class={drawer ? 'shell drawer-open' : 'shell'}>
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        Skip to content
      </button>
      <header class="topbar">
        <button
          type="button"
          class="plain icon"
          aria-label="Menu"
          aria-expanded={drawer}
          onClick={() => setDrawer(true)}
        >
          <Icon name="menu" />
        </button>
        <a class="brand" href="#/">
          <img src={mark} alt="" /> Annal
        </a>
      </header>
      <button type="button" class="scrim" aria-label="Close menu" tabIndex={-1} onClick={() => setDrawer(false)} />
      <Sidebar />
      <main class="page" id="main" ref={main} tabIndex={-1} key={key}>
        <HealthNotice />
        <LicenseNotice />
        <Page />
      </main>
      <Shortcuts />
    </div>
  )
}

function Sidebar() {
  return (
    <aside class="sidebar" aria-label="Sidebar">
      <a class="brand" href="#/">
        <img src={mark} alt="" /> Annal
      </a>
      <DatabasePicker />
      <nav class="nav" aria-label="Main">
        <div>
          <Link to={['collections']} icon="collection" exact>
            Collections
          </Link>
          <CollectionLinks />
        </div>
        <div>
          <h3>Data safety</h3>
          <Link to={['backups']} icon="backup">
            Backups
          </Link>
          <Link to={['log']} icon="log">
            Log and time
          </Link>
          <Link to={['changes']} icon="changes">
            Changes
          </Link>
        </div>
        <div>
          <h3>Server</h3>
          <Link to={['operations']} icon="pulse">
            Operations
          </Link>
          {isClustered.value && (
            <Link to={['cluster']} icon="cluster">
              Cluster
            </Link>
          )}
          <Link to={['console']} icon="console">
            Console
          </Link>
          {access.value.kind === 'root' && (
            <Link to={['databases']} icon="database">
              Databases
            </Link>
          )}
          {serverInfo.value?.mode === 'enterprise' && (
            <Link to={['license']} icon="license">
              License
            </Link>
          )}
        </div>
      </nav>
      <Foot />
    </aside>
  )
}

const linksMax = 100

function CollectionLinks() {
  const all = collections.value ?? []
  return (
    <div class="nested">
      {all.slice(0, linksMax).map(({ name, total_elements: elements, condition }) => (
        <Link key={name} to={['collections', name]}>
          <Name text={name} kind="grow" />
          {condition === 'ready' ? (
            <span class="count num">{count(elements)}</span>
          ) : (
            <span class={`dot ${condition === 'loading' ? 'warn' : 'bad'} count`} title={condition} />
          )}
        </Link>
      ))}
    </div>
  )
}

function Link(props: {
  readonly to: readonly string[]
  readonly icon?: IconName
  readonly exact?: boolean
  readonly children: ComponentChildren
}) {
  const segments = useSegments()
  const here =
    props.to.every((part, i) => segments[i] === part) && (!props.exact || segments.length === props.to.length)
  return (
    <a href={href(props.to)} aria-current={here ? 'page' : undefined}>
      {props.icon && <Icon name={props.icon} />}
      {props.children}
    </a>
  )
}

function Foot() {
  const health = serverHealth.value
  const kind = health === undefined ? '' : health.status === 'ok' ? 'good' : health.status === 'failed' ? 'bad' : 'warn'
  const version = serverInfo.value?.version
  return (
    <div class="side-foot">
      <a class="status" href="#/operations" title="Operations">
        <span class={`dot ${kind}`} />
        <span class="truncate">
          {health?.status ?? 'no response'}
          {version && ` · ${version}`}
        </span>
      </a>
      <button
        type="button"
        class="plain icon"
        aria-label={`Theme: ${theme.value}. Change`}
        title={`Theme: ${theme.value}`}
        onClick={nextTheme}
      >
        <Icon name={theme.value === 'light' ? 'sun' : theme.value === 'dark' ? 'moon' : 'system'} />
      </button>
      <button
        type="button"
        class="plain icon"
        aria-label="Keyboard shortcuts"
        title="Keyboard shortcuts"
        onClick={showShortcuts}
      >
        <Icon name="keyboard" />
      </button>
      {access.value.kind !== 'open' && (
        <button type="button" class="plain icon" aria-label="Sign out" title="Sign out" onClick={signOut}>
          <Icon name="leave" />
        </button>
      )}
    </div>
  )
}

/** A notice when the server is not healthy, with a link to advice. */
function HealthNotice() {
  const health = serverHealth.value
  if (health === undefined || health.status === 'ok') return null
  return (
    <div class={`notice ${health.status === 'failed' ? 'bad' : 'warn'}`} role="status">
      <Icon name="warning" />
      <div class="grow">
        <strong>The server is {health.status}.</strong> {health.reasons?.join('; ')}
      </div>
      <a href="#/operations">What to do</a>
    </div>
  )
}

/** Without a license an enterprise server is restricted; in its last week the license shows a notice. */
function LicenseNotice() {
  const said = serverInfo.value
  const [section] = useSegments()
  if (said?.mode !== 'enterprise' || section === 'license') return null
  const text = licenseWarning(said.license)
  if (text === undefined) return null
  return (
    <div class="notice warn" role="status">
      <Icon name="warning" />
      <div class="grow">{text}</div>
      <a href="#/license">License</a>
    </div>
  )
}

/** The parts of the path of the current page. */
function useSegments(): readonly string[] {
  const [path] = useLocation()
  return path.split('/').filter(Boolean)
}

function titleOf(segments: readonly string[]): string {
  return segments.length === 0 ? 'Annal' : `${visible(segments.slice(0, 3).join(' · '))} — Annal`
}
