// Maps an address to a page.
import { Route, Switch, useLocation } from 'wouter-preact'
import { Backups } from './pages/backups/backups.tsx'
import { CollectionPage } from './pages/collection/collection.tsx'
import { Collections } from './pages/collections/collections.tsx'
import { Databases } from './pages/databases/databases.tsx'
import { LicensePage } from './pages/license.tsx'
import { lazy } from './parts/lazy.tsx'
import { PageHead } from './parts/panel.tsx'
import { Empty } from './parts/states.tsx'
import { access } from './session.ts'

const Changes = lazy(async () => (await import('./pages/changes/changes.tsx')).Changes)
const Console = lazy(async () => (await import('./pages/console/console.tsx')).Console)
const ClusterPage = lazy(async () => (await import('./pages/cluster/cluster.tsx')).ClusterPage)
const Log = lazy(async () => (await import('./pages/log/log.tsx')).Log)
const Texts = lazy(async () => (await import('./pages/texts/texts.tsx')).Texts)
const Operations = lazy(async () => (await import('./pages/operations/operations.tsx')).Operations)

/** Pages about the server rather than its data. */
const withoutDatabase = new Set(['databases', 'license', 'operations', 'cluster', 'console'])

export function Page() {
  const [section = ''] = useLocation()[0].split('/').filter(Boolean)
  const now = access.value
  if (now.kind === 'root' && now.database === undefined && !withoutDatabase.has(section)) return <NoDatabase />
  return (
    <Switch>
      <Route path="/" component={Collections} />
      <Route path="/collections" component={Collections} />
      <Route<{ readonly name: string; readonly tab?: string }> path="/collections/:name/:tab?/*?">
        {({ name, tab = 'overview' }) => <CollectionPage key={name} name={name} tab={tab} />}
      </Route>
      <Route path="/texts/*?" component={Texts} />
      <Route path="/backups/*?" component={Backups} />
      <Route path="/log/*?" component={Log} />
      <Route path="/changes/*?" component={Changes} />
      <Route path="/operations/*?" component={Operations} />
      <Route path="/cluster/*?" component={ClusterPage} />
      <Route path="/console/*?" component={Console} />
      <Route path="/databases/*?" component={Databases} />
      <Route path="/license/*?" component={LicensePage} />
      <Route>
        <PageHead title="Page not found" />
        <Empty title="Nothing is at this address">
          <a href="#/collections">Go to the collections</a>
        </Empty>
      </Route>
    </Switch>
  )
}

function NoDatabase() {
  return (
    <>
      <PageHead title="Collections" />
      <Empty title="No databases yet">
        <p>Every collection belongs to a database. Sign in with the root token to create one.</p>
        <div class="row">
          <a class="button primary" href="#/databases">
            Create a database
          </a>
        </div>
      </Empty>
    </>
  )
}
