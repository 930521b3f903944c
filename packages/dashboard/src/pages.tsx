// Maps an address to a page.
import { Backups } from './pages/backups/backups.tsx'
import { CollectionPage } from './pages/collection/collection.tsx'
import { Collections } from './pages/collections/collections.tsx'
import { Console } from './pages/console/console.tsx'
import { Databases } from './pages/databases/databases.tsx'
import { LicensePage } from './pages/license.tsx'
import { Log } from './pages/log/log.tsx'
import { Operations } from './pages/operations/operations.tsx'
import { Empty } from './parts/states.tsx'
import { route } from './route.ts'
import { access } from './session.ts'

/** Pages about the server rather than its data. */
const withoutDatabase = new Set(['databases', 'license', 'operations', 'console'])

export function Page() {
  const [section, name, tab] = route.value.segments
  const now = access.value
  if (now.kind === 'root' && now.database === undefined && !withoutDatabase.has(section ?? '')) return <NoDatabase />
  switch (section) {
    case undefined:
    case 'collections':
      return name === undefined ? <Collections /> : <CollectionPage key={name} name={name} tab={tab ?? 'overview'} />
    case 'backups':
      return <Backups />
    case 'log':
      return <Log />
    case 'operations':
      return <Operations />
    case 'console':
      return <Console />
    case 'databases':
      return <Databases />
    case 'license':
      return <LicensePage />
    default:
      return (
        <Empty title="Page not found">
          <a href="#/collections">Go to the collections</a>
        </Empty>
      )
  }
}

function NoDatabase() {
  return (
    <Empty title="No databases yet">
      <p>Every collection belongs to a database. Sign in with the root token to create one.</p>
      <div class="row">
        <a class="button primary" href="#/databases">
          Create a database
        </a>
      </div>
    </Empty>
  )
}
