// All collections with their size and cost, and the button that creates one.
import { useState } from 'preact/hooks'
import { go, href, parameters } from '../../address.ts'
import { type Collection, type Field, hasGraph, isText } from '../../api/collections.ts'
import { Icon } from '../../parts/icon.tsx'
import { Badge, PageHead, Panel } from '../../parts/panel.tsx'
import { Empty, Failure, Loading } from '../../parts/states.tsx'
import { Name } from '../../parts/stored.tsx'
import { Table } from '../../parts/table.tsx'
import { bytes, bytesIn, count, dateTime, sum } from '../../show.ts'
import { collections, collectionsError, refresh } from '../../watch.ts'
import { CreateCollection } from './create-collection.tsx'

const rowsMax = 500

export function Collections() {
  const creating = parameters.value.has('new')
  const [search, setSearch] = useState('')
  const all = collections.value
  const shown = all?.filter(({ name }) => name.toLowerCase().includes(search.toLowerCase())) ?? []
  return (
    <>
      <PageHead
        title="Collections"
        actions={
          <>
            <a class="button primary" href="#/collections?new=1">
              <Icon name="plus" size={14} /> New collection
            </a>
            <a class="button" href="#/texts">
              <Icon name="upload" size={14} /> Add texts
            </a>
          </>
        }
      />
      {collectionsError.value && <Failure error={collectionsError.value} retry={() => void refresh()} />}
      {all === undefined ? (
        !collectionsError.value && <Loading />
      ) : all.length === 0 ? (
        <Panel>
          <Empty title="No collections yet">
            <p>A collection stores texts and vectors. It finds texts by their words and vectors by their distance.</p>
            <div class="row">
              <a class="button primary" href="#/texts">
                Start with texts
              </a>
              <a class="button" href="#/collections?new=1">
                Create a collection
              </a>
            </div>
          </Empty>
        </Panel>
      ) : (
        <Panel
          flush
          title={<Totals collections={all} />}
          actions={
            all.length > 8 && (
              <input
                type="search"
                aria-label="Filter by name"
                placeholder="Filter by name"
                value={search}
                onInput={(event) => setSearch(event.currentTarget.value)}
              />
            )
          }
        >
          <CollectionTable collections={shown.slice(0, rowsMax)} />
          {shown.length > rowsMax && (
            <p class="more muted num">{count(shown.length - rowsMax)} more. Filter by name to see them.</p>
          )}
        </Panel>
      )}
      {creating && <CreateCollection onClose={() => go('#/collections')} />}
    </>
  )
}

function Totals({ collections }: { readonly collections: readonly Collection[] }) {
  const objects = collections.reduce((total, { total_elements: elements }) => total + elements, 0)
  const memory = collections.reduce((total, collection) => total + sum(collection.memory), 0)
  return (
    <span class="num">
      {count(collections.length)} {collections.length === 1 ? 'collection' : 'collections'} · {count(objects)} objects
      {memory > 0 && ` · ${bytes(memory).replace(' ', '\u00a0')}`}
    </span>
  )
}

function CollectionTable({ collections }: { readonly collections: readonly Collection[] }) {
  const show = bytesIn(collections.map(({ memory }) => sum(memory)))
  return (
    <Table
      heads={[
        'Name',
        { name: 'Objects', right: true },
        { name: 'Memory', right: true },
        'Fields',
        { name: 'LSN', right: true },
        'Created',
        'State',
      ]}
    >
      {collections.map((collection) => (
        <tr key={collection.name}>
          <td>
            <a href={href(['collections', collection.name])}>
              <strong>
                <Name text={collection.name} />
              </strong>
            </a>
          </td>
          <td class="right">{count(collection.total_elements)}</td>
          <td class="right fit">{collection.memory === undefined ? '–' : show(sum(collection.memory))}</td>
          <td>
            <div class="row tight">
              {collection.fields.map((field) => (
                <Badge key={field.name}>
                  <Name text={field.name} /> {aboutField(field)}
                </Badge>
              ))}
            </div>
          </td>
          <td class="right">{count(collection.lsn)}</td>
          <td class="fit muted">{dateTime(collection.created_at * 1_000)}</td>
          <td class="fit">
            <Condition collection={collection} />
          </td>
        </tr>
      ))}
    </Table>
  )
}

export function Condition({ collection }: { readonly collection: Collection }) {
  const kind = collection.condition === 'ready' ? 'good' : collection.condition === 'loading' ? 'warn' : 'bad'
  return <Badge kind={kind}>{collection.condition}</Badge>
}

function aboutField(field: Field): string {
  if (isText(field)) return `· text ${field.params.language}`
  if (!hasGraph(field)) return '· sparse'
  const { dimension, space_type: space, precision } = field.params
  return `· ${field.type === 'multi_vector' ? 'multi × ' : ''}${dimension} ${space} ${precision}`
}
