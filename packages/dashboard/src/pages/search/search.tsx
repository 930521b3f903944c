// Search: the query on one side, the results on the other; two results side by side when settings are compared.
import { useEffect, useRef, useState } from 'preact/hooks'
import { go, href, parameters } from '../../address.ts'
import { type SearchBody, search } from '../../api/search.ts'
import { asError, useAction } from '../../load.ts'
import { lazy } from '../../parts/lazy.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Empty, Failure, Loading } from '../../parts/states.tsx'
import type { CollectionTab } from '../collection-tab.ts'
import { Agreement } from './agreement.tsx'
import { Answer } from './answer.tsx'
import { bodyOf, draftOf, keepDraft, nearObject, type SearchDraft } from './draft.ts'
import { QueryForm } from './query-form.tsx'
import { SavedSearches } from './saved-dialog.tsx'
import type { Side } from './side.ts'
import { Snippets } from './snippets-dialog.tsx'

const PastSearch = lazy(async () => (await import('./past.tsx')).PastSearch)

/** Results that begin further down, as a share of the height, are brought into view. */
const shownFrom = 0.75

export function Search({ collection }: CollectionTab) {
  const near = parameters.value.get('near')
  const moment = parameters.value.get('as_of')
  const isPast = moment !== null
  const [draft, setDraft] = useState<SearchDraft>(() =>
    near === null ? draftOf(collection) : nearObject(collection, near),
  )
  const [sides, setSides] = useState<readonly Side[]>()
  const [pastBody, setPastBody] = useState<SearchBody>()
  const [copying, setCopying] = useState<SearchDraft>()
  const [showsSaved, setShowsSaved] = useState(false)
  const { busy, error, run } = useAction()
  const results = useRef<HTMLDivElement>(null)
  const change = (next: SearchDraft) => {
    keepDraft(collection.name, next)
    setDraft(next)
  }
  const runSearch = (draft: SearchDraft) =>
    run(async () => {
      if (isPast) {
        setPastBody({ ...bodyOf(draft, draft.settings, collection.fields), explain: true })
        return
      }
      const answered: Side[] = []
      const variants = draft.other === undefined ? [draft.settings] : [draft.settings, draft.other]
      // One after the other, because concurrent searches would slow each other down.
      for (const settings of variants) {
        const body = { ...bodyOf(draft, settings, collection.fields), explain: true }
        const startedAt = performance.now()
        const reply = await search(collection.name, body).catch((error: unknown) => {
          // Results of the search before would seem to be those of this one.
          setSides(undefined)
          throw error
        })
        answered.push({ reply, body, ms: performance.now() - startedAt })
      }
      setSides(answered)
    })
  useEffect(() => {
    if (near === null) return
    const nearDraft = nearObject(collection, near)
    change(nearDraft)
    void runSearch(nearDraft)
    // Otherwise the address would start this search again on every visit.
    go(href(['collections', collection.name, 'search'], { as_of: moment ?? undefined }), { replace: true })
  }, [near])
  useEffect(() => {
    const box = results.current
    if (sides !== undefined && box !== null && box.getBoundingClientRect().top > shownFrom * innerHeight)
      box.scrollIntoView()
  }, [sides])
  const goTo = (asOf: string | undefined, options?: { readonly replace: boolean }) =>
    go(href(['collections', collection.name, 'search'], { as_of: asOf }), options)
  const showNear = (id: string) =>
    go(href(['collections', collection.name, 'search'], { near: id, as_of: moment ?? undefined }))
  const lsn = Number(moment)
  return (
    <div class="split">
      <QueryForm
        collection={collection}
        draft={draft}
        busy={busy}
        isPast={isPast}
        onChange={change}
        onPast={(wanted) => {
          setPastBody(undefined)
          goTo(wanted ? 'now' : undefined)
        }}
        onSubmit={() => void runSearch(draft)}
        onCopy={() => setCopying(draft)}
        onSaved={() => setShowsSaved(true)}
      />
      <div class="stack results" ref={results}>
        {error && <Failure error={error} />}
        {isPast ? (
          <PastSearch
            collection={collection.name}
            lsn={Number.isSafeInteger(lsn) ? lsn : undefined}
            body={pastBody}
            onPick={(lsn) => goTo(String(lsn), { replace: true })}
            onNear={showNear}
          />
        ) : (
          <Answers
            sides={sides}
            busy={busy}
            failed={error !== undefined}
            collection={collection.name}
            onNear={showNear}
          />
        )}
      </div>
      {showsSaved && (
        <SavedSearches
          collection={collection}
          draft={draft}
          onLoad={(saved) => {
            setShowsSaved(false)
            change(saved)
          }}
          onCode={(saved) => {
            setShowsSaved(false)
            setCopying(saved)
          }}
          onClose={() => setShowsSaved(false)}
        />
      )}
      {copying && <Copying draft={copying} collection={collection} onClose={() => setCopying(undefined)} />}
    </div>
  )
}

function Answers(props: {
  readonly sides: readonly Side[] | undefined
  readonly busy: boolean
  readonly failed: boolean
  readonly collection: string
  readonly onNear: (id: string) => void
}) {
  const { sides, onNear } = props
  const shared = { collection: props.collection, onNear }
  if (sides === undefined && props.busy) return <Loading lines={6} />
  // Why there are none is said above.
  if (sides === undefined && props.failed) return null
  if (sides === undefined) {
    return (
      <Panel>
        <Empty title="No search yet">
          <p>Enter a query for at least one field.</p>
        </Empty>
      </Panel>
    )
  }
  const [first, second] = sides
  if (first === undefined) return null
  if (second === undefined) return <Answer title="Results" {...first} {...shared} />
  return (
    <>
      <Agreement a={first.reply} b={second.reply} />
      <div class="halves">
        <Answer title="A" {...first} other={second.reply} {...shared} />
        <Answer title="B" {...second} other={first.reply} {...shared} />
      </div>
    </>
  )
}

function Copying(props: {
  readonly draft: SearchDraft
  readonly collection: CollectionTab['collection']
  readonly onClose: () => void
}) {
  const { draft, collection } = props
  try {
    const body = bodyOf(draft, draft.settings, collection.fields)
    return <Snippets collection={collection.name} body={body} onClose={props.onClose} />
  } catch (error) {
    return <Snippets collection={collection.name} fault={asError(error)} onClose={props.onClose} />
  }
}
