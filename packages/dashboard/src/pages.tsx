// Which page an address means.
import { CollectionPage } from './pages/collection/collection.tsx'
import { Collections } from './pages/collections/collections.tsx'
import { Console } from './pages/console/console.tsx'
import { Operations } from './pages/operations/operations.tsx'
import { Empty } from './parts/states.tsx'
import { route } from './route.ts'

export function Page() {
  const [section, name, tab] = route.value.segments
  switch (section) {
    case undefined:
    case 'collections':
      return name === undefined ? <Collections /> : <CollectionPage key={name} name={name} tab={tab ?? 'overview'} />
    case 'operations':
      return <Operations />
    case 'console':
      return <Console />
    default:
      return (
        <Empty title="There is no such page">
          <a href="#/collections">Go to the collections</a>
        </Empty>
      )
  }
}
