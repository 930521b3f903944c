// Creates the collection and writes the texts, with progress; can be canceled and continued.
import { useEffect, useRef, useState } from 'preact/hooks'
import { createCollection, deleteCollection } from '../../api/collections.ts'
import { upsert } from '../../api/objects.ts'
import { asError, useAction } from '../../load.ts'
import { Bar, Panel } from '../../parts/panel.tsx'
import { Failure } from '../../parts/states.tsx'
import { tell } from '../../parts/toast.tsx'
import { count } from '../../show.ts'
import { refresh } from '../../watch.ts'
import { Loader, type Progress } from './loader.ts'
import { fieldsOf, type Plan } from './plan.ts'
import type { Table } from './table.ts'

export interface LoadWish {
  readonly table: Table
  readonly plan: Plan
}

type State = { readonly kind: 'running' | 'canceled' } | { readonly kind: 'failed'; readonly error: Error }

export function Load(props: { readonly wish: LoadWish; readonly onDone: () => void; readonly onBack: () => void }) {
  const { table, plan } = props.wish
  const [state, setState] = useState<State>({ kind: 'running' })
  const [progress, setProgress] = useState<Progress>({ rows: 0, chunks: 0 })
  const [created, setCreated] = useState(false)
  const loader = useRef<Loader>(undefined)
  const running = useRef<AbortController>(undefined)
  const removal = useAction()
  const run = async () => {
    const abort = new AbortController()
    running.current = abort
    setState({ kind: 'running' })
    try {
      if (loader.current === undefined) {
        await createCollection(plan.name, fieldsOf(plan))
        setCreated(true)
        loader.current = new Loader(table, plan, (objects, signal) => upsert(plan.name, objects, { signal }))
      }
      const { chunks } = await loader.current.run(abort.signal, setProgress)
      await refresh()
      tell(`${count(chunks)} chunks written.`)
      props.onDone()
    } catch (error) {
      setState(abort.signal.aborted ? { kind: 'canceled' } : { kind: 'failed', error: asError(error) })
    }
  }
  useEffect(() => {
    void run()
    return () => running.current?.abort()
  }, [])
  const remove = () =>
    removal.run(async () => {
      if (created) await deleteCollection(plan.name)
      await refresh()
      props.onBack()
    })
  const total = table.rows.length
  return (
    <Panel title={`Loading ${plan.name}`}>
      <div class="stack tight">
        <div role="status">
          <Bar share={total === 0 ? 0 : progress.rows / total} label="Documents written" />
          <p class="muted num">
            {count(progress.rows)} of {count(total)} documents, {count(progress.chunks)} chunks written
          </p>
        </div>
        {state.kind === 'failed' && <Failure error={state.error} />}
        {removal.error && <Failure error={removal.error} />}
        <div class="row">
          {state.kind === 'running' ? (
            <button type="button" onClick={() => running.current?.abort()}>
              Cancel
            </button>
          ) : (
            <>
              <button type="button" class="primary" disabled={removal.busy} onClick={() => void run()}>
                Continue
              </button>
              {created && (
                <button type="button" disabled={removal.busy} onClick={props.onDone}>
                  Search what is there
                </button>
              )}
              <button
                type="button"
                class={created ? 'danger' : ''}
                disabled={removal.busy}
                onClick={() => void remove()}
              >
                {created ? 'Delete the new collection' : 'Back'}
              </button>
            </>
          )}
        </div>
      </div>
    </Panel>
  )
}
