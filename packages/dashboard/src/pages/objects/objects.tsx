// Browses the objects that match a filter in pages, opens one of them, and inserts or deletes objects.
import { useRef, useState } from 'preact/hooks'
import { go, href, parameters } from '../../address.ts'
import { isText } from '../../api/collections.ts'
import { count as countObjects, type Filter, listObjects } from '../../api/objects.ts'
import { asError, useLoad, useRested } from '../../load.ts'
import { Icon } from '../../parts/icon.tsx'
import { lazy } from '../../parts/lazy.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Empty, Show } from '../../parts/states.tsx'
import { count } from '../../show.ts'
import type { CollectionTab } from '../collection-tab.ts'
import { FilterBuilder } from '../filter/filter-builder.tsx'
import { type FilterDraft, filterOf, noFilter } from '../filter/filter-draft.ts'
import { DeleteMatching } from './delete-matching.tsx'
import { Insert } from './insert.tsx'
import { ObjectDialog, type ObjectView } from './object-dialog.tsx'
import { ObjectTable } from './object-table.tsx'

const UndoDialog = lazy(async () => (await import('./undo-dialog.tsx')).UndoDialog)

const pageSize = 50
const restMs = 250

export function Objects({ collection, again }: CollectionTab) {
  const [draft, setDraft] = useState<FilterDraft>(noFilter)
  // Cursors of the visited pages; the last one is that of the current page.
  const [cursors, setCursors] = useState<readonly (string | undefined)[]>([undefined])
  const [openDialog, setOpenDialog] = useState<'insert' | 'delete' | 'undo'>()
  const shownId = parameters.value.get('id')
  const view = parameters.value.get('view') === 'history' ? 'history' : 'content'
  const { filter, fault } = useFilter(draft)
  const cursor = cursors.at(-1)
  const texts = collection.fields.some(isText)
  const key = [collection.name, filter]
  // A write reads the page again without taking it from the screen.
  const version = collection.lsn
  const page = useLoad(
    (signal) => listObjects(collection.name, { filter, limit: pageSize, cursor, texts }, { signal }),
    [...key, cursor],
    { version },
  )
  const matches = useLoad((signal) => countObjects(collection.name, filter, { signal }), key, { version })
  const show = (id: string | undefined) => go(href(['collections', collection.name, 'objects'], { id }))
  const showView = (view: ObjectView) =>
    go(href(['collections', collection.name, 'objects'], { id: shownId ?? undefined, view }), { replace: true })
  const changeFilter = (next: FilterDraft) => {
    setDraft(next)
    setCursors([undefined])
  }
  const written = () => {
    setOpenDialog(undefined)
    setCursors([undefined])
    again()
    page.again()
    matches.again()
  }
  const next = page.kind === 'ready' ? page.value.cursor : null
  return (
    <div class="stack">
      <Panel
        title="Filter"
        actions={
          <>
            <IdBox onShow={show} />
            <button type="button" onClick={() => setOpenDialog('insert')}>
              <Icon name="plus" size={14} /> Insert
            </button>
            <button
              type="button"
              disabled={filter.length === 0 || fault !== undefined}
              title={filter.length === 0 ? 'Enter a filter first' : undefined}
              onClick={() => setOpenDialog('undo')}
            >
              Undo matching…
            </button>
            <button
              type="button"
              class="danger"
              disabled={filter.length === 0 || fault !== undefined}
              title={filter.length === 0 ? 'Enter a filter first' : undefined}
              onClick={() => setOpenDialog('delete')}
            >
              Delete matching…
            </button>
          </>
        }
      >
        <FilterBuilder collection={collection.name} draft={draft} onChange={changeFilter} />
      </Panel>
      <Panel
        flush
        label="Objects"
        title={
          <span class="num">
            {matches.kind === 'ready' ? count(matches.value) : '…'}{' '}
            {filter.length === 0 ? 'objects' : 'matching objects'}
          </span>
        }
        actions={
          <>
            <span class="muted num">Page {cursors.length}</span>
            <button
              type="button"
              class="compact"
              disabled={cursors.length === 1}
              onClick={() => setCursors(cursors.slice(0, -1))}
            >
              Previous
            </button>
            <button
              type="button"
              class="compact"
              disabled={next === null}
              onClick={() => next !== null && setCursors([...cursors, next])}
            >
              Next
            </button>
          </>
        }
      >
        <Show source={page} lines={8}>
          {({ objects }) =>
            objects.length === 0 ? (
              <Empty title={filter.length === 0 ? 'No objects yet' : 'Nothing matches'}>
                {filter.length === 0 && (
                  <div class="row">
                    <button type="button" class="primary" onClick={() => setOpenDialog('insert')}>
                      Insert objects
                    </button>
                  </div>
                )}
              </Empty>
            ) : (
              <ObjectTable objects={objects} fields={collection.fields} onShow={show} />
            )
          }
        </Show>
      </Panel>
      {openDialog === 'insert' && (
        <Insert collection={collection} onClose={() => setOpenDialog(undefined)} onWritten={written} />
      )}
      {openDialog === 'delete' && (
        <DeleteMatching
          collection={collection.name}
          filter={filter}
          onClose={() => setOpenDialog(undefined)}
          onWritten={written}
        />
      )}
      {openDialog === 'undo' && (
        <UndoDialog
          collection={collection.name}
          choice={{ filter }}
          onClose={() => setOpenDialog(undefined)}
          onWritten={written}
        />
      )}
      {shownId !== null && (
        <ObjectDialog
          key={shownId}
          collection={collection}
          id={shownId}
          view={view}
          onView={showView}
          onClose={() => show(undefined)}
          onWritten={() => {
            show(undefined)
            written()
          }}
        />
      )}
    </div>
  )
}

/** The last valid filter stays in effect while another is being typed, and a request is sent when the typing rests. */
function useFilter(draft: FilterDraft): { readonly filter: Filter; readonly fault?: Error } {
  const rested = useRested(draft, restMs)
  const last = useRef<Filter>([])
  try {
    last.current = filterOf(rested)
    return { filter: last.current, ...(rested !== draft && { fault: new Error('being typed') }) }
  } catch (error) {
    return { filter: last.current, fault: asError(error) }
  }
}

function IdBox({ onShow }: { readonly onShow: (id: string) => void }) {
  const [id, setId] = useState('')
  return (
    <form
      class="row tight"
      onSubmit={(event) => {
        event.preventDefault()
        if (id !== '') onShow(id)
      }}
    >
      <input
        aria-label="Object id"
        class="id-box"
        placeholder="Open by id"
        value={id}
        spellcheck={false}
        onInput={(event) => setId(event.currentTarget.value)}
      />
      <button type="submit" disabled={id === ''}>
        Open
      </button>
    </form>
  )
}
