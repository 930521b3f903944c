// One collection. Its parts are tabs with their own addresses.
import { useEffect, useRef } from 'preact/hooks'
import { href } from '../../address.ts'
import { describeCollection } from '../../api/collections.ts'
import { useLoad } from '../../load.ts'
import { lazy } from '../../parts/lazy.tsx'
import { PageHead } from '../../parts/panel.tsx'
import { Empty, Show } from '../../parts/states.tsx'
import { Name } from '../../parts/stored.tsx'
import { count } from '../../show.ts'
import type { CollectionTab } from '../collection-tab.ts'
import { Condition } from '../collections/collections.tsx'
import { Objects } from '../objects/objects.tsx'
import { Search } from '../search/search.tsx'
import { Overview } from './overview.tsx'

const tabs = [
  ['overview', 'Overview'],
  ['search', 'Search'],
  ['objects', 'Objects'],
  ['map', 'Map'],
  ['judging', 'Judging'],
  ['branches', 'Branches'],
] as const

const BranchesTab = lazy(async () => (await import('../branches/branches.tsx')).Branches)
const JudgingTab = lazy(async () => (await import('../judging/judging.tsx')).Judging)
const MapTab = lazy(async () => (await import('../map/map.tsx')).MapTab)

const everyMs = 5_000

export function CollectionPage({ name, tab }: { readonly name: string; readonly tab: string }) {
  const described = useLoad((signal) => describeCollection(name, { signal }), [name], { everyMs })
  const collection = described.kind === 'ready' ? described.value : undefined
  const list = useRef<HTMLElement>(null)
  // On a narrow screen the last tabs are out of sight.
  useEffect(
    () => list.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' }),
    [tab],
  )
  return (
    <>
      <PageHead
        crumbs={<a href="#/collections">Collections</a>}
        title={<Name text={name} />}
        actions={
          collection && (
            <span class="row muted num">
              {count(collection.total_elements)} objects · LSN {count(collection.lsn)}{' '}
              <Condition collection={collection} />
            </span>
          )
        }
      />
      <nav ref={list} class="tabs" aria-label="Collection tabs">
        {tabs.map(([key, text]) => (
          <a key={key} href={href(['collections', name, key])} aria-current={key === tab ? 'page' : undefined}>
            {text}
          </a>
        ))}
      </nav>
      <Show source={described}>{(value) => <Tab tab={tab} collection={value} again={described.again} />}</Show>
    </>
  )
}

function Tab({ tab, ...props }: CollectionTab & { readonly tab: string }) {
  switch (tab) {
    case 'overview':
      return <Overview {...props} />
    case 'search':
      return <Search {...props} />
    case 'objects':
      return <Objects {...props} />
    case 'map':
      return <MapTab {...props} />
    case 'judging':
      return <JudgingTab {...props} />
    case 'branches':
      return <BranchesTab {...props} />
    default:
      return <Empty title="Tab not found" />
  }
}
