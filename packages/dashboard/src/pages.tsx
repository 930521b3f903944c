// Which page an address means.
import { Backups } from './pages/backups/backups.tsx'
import { CollectionPage } from './pages/collection/collection.tsx'
import { Collections } from './pages/collections/collections.tsx'
import { Console } from './pages/console/console.tsx'
import { Databases } from './pages/databases/databases.tsx'
import { Licence } from './pages/licence.tsx'
import { Log } from './pages/log/log.tsx'
import { Operations } from './pages/operations/operations.tsx'
import { Empty } from './parts/states.tsx'
import { route } from './route.ts'
import { access } from './session.ts'

/** Pages that are about the server and not about data. */
const withoutDatabase = new Set(['databases', 'licence', 'operations', 'console'])

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
    case 'licence':
      return <Licence />
    default:
      return (
        <Empty title="There is no such page">
          <a href="#/collections">Go to the collections</a>
        </Empty>
      )
  }
}

function NoDatabase() {
  return (
    <Empty title="There is no database yet">
      <p>Collections live in databases. The root token makes them.</p>
      <div class="row">
        <a class="button primary" href="#/databases">
          Make the first one
        </a>
      </div>
    </Empty>
  )
}
