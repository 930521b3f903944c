// Search: the query on one side, the results on the other; two results side by side when settings are compared.
import { useEffect, useState } from 'preact/hooks'
import { go, href, parameters } from '../../address.ts'
import { type SearchReply, search } from '../../api/search.ts'
import { asError, useAction } from '../../load.ts'
import { Panel } from '../../parts/panel.tsx'
import { Empty, Failure, Loading } from '../../parts/states.tsx'
import type { CollectionTab } from '../collection/collection-tab.ts'
import { Agreement } from './agreement.tsx'
import { Answer } from './answer.tsx'
import { bodyOf, draftOf, keepDraft, nearObject, type SearchDraft, type Settings } from './draft.ts'
import { QueryForm } from './query-form.tsx'
import { Snippets } from './snippets-dialog.tsx'

interface Side {
  readonly settings: Settings
  readonly reply: SearchReply
  /** As measured by the browser, including the network. */
  readonly ms: number
}

export function Search({ collection }: CollectionTab) {
  const near = parameters.value.get('near')
  const [draft, setDraft] = useState<SearchDraft>(() =>
    near === null ? draftOf(collection) : nearObject(collection, near),
  )
  const [sides, setSides] = useState<readonly Side[]>()
  const [copying, setCopying] = useState(false)
  const { busy, error, run } = useAction()
  const change = (next: SearchDraft) => {
    keepDraft(collection.name, next)
    setDraft(next)
  }
  const runSearch = (draft: SearchDraft) =>
    run(async () => {
      const answered: Side[] = []
      const variants = draft.other === undefined ? [draft.settings] : [draft.settings, draft.other]
      // One after the other, because concurrent searches would slow each other down.
      for (const settings of variants) {
        const body = { ...bodyOf(draft, settings, collection.fields), explain: true }
        const startedAt = performance.now()
        const reply = await search(collection.name, body)
        answered.push({ settings, reply, ms: performance.now() - startedAt })
      }
      setSides(answered)
    })
  useEffect(() => {
    if (near === null) return
    const nearDraft = nearObject(collection, near)
    change(nearDraft)
    void runSearch(nearDraft)
    // Otherwise the address would start this search again on every visit.
    go(href(['collections', collection.name, 'search']), { replace: true })
  }, [near])
  return (
    <div class="split">
      <QueryForm
        collection={collection}
        draft={draft}
        busy={busy}
        onChange={change}
        onSubmit={() => void runSearch(draft)}
        onCopy={() => setCopying(true)}
      />
      <div class="stack">
        {error && <Failure error={error} />}
        <Answers sides={sides} busy={busy} collection={collection.name} />
      </div>
      {copying && <Copying draft={draft} collection={collection} onClose={() => setCopying(false)} />}
    </div>
  )
}

function Answers(props: {
  readonly sides: readonly Side[] | undefined
  readonly busy: boolean
  readonly collection: string
}) {
  const { sides } = props
  const showNear = (id: string) => go(href(['collections', props.collection, 'search'], { near: id }))
  if (sides === undefined && props.busy) return <Loading lines={6} />
  if (sides === undefined) {
    return (
      <Panel>
        <Empty title="No search yet">
          <p>Enter an object id or a vector.</p>
        </Empty>
      </Panel>
    )
  }
  const [first, second] = sides
  if (first === undefined) return null
  if (second === undefined) return <Answer title="Results" {...first} collection={props.collection} onNear={showNear} />
  return (
    <>
      <Agreement a={first.reply} b={second.reply} />
      <div class="halves">
        <Answer title="A" {...first} other={second.reply} collection={props.collection} onNear={showNear} />
        <Answer title="B" {...second} other={first.reply} collection={props.collection} onNear={showNear} />
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
