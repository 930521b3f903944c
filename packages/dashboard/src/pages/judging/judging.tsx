// Judges searches against judged queries: two files, one setting or two, and what they find.
import { useEffect, useRef, useState } from 'preact/hooks'
import { asError } from '../../load.ts'
import { NumberField } from '../../parts/form.tsx'
import { Bar, Panel } from '../../parts/panel.tsx'
import { Empty, Failure } from '../../parts/states.tsx'
import { count } from '../../show.ts'
import type { CollectionTab } from '../collection-tab.ts'
import { DifferentQueries } from './different-queries.tsx'
import { FilesPanel } from './files-panel.tsx'
import { type Judgment, judge, type Wish } from './judge.ts'
import { JudgmentPanel } from './judgment-panel.tsx'
import { presetsOf } from './presets.ts'
import { SettingForm } from './setting-form.tsx'

type Draft = Omit<Wish, 'k'> & { readonly k: number | undefined }

const kDefault = 10
const kMax = 4_096
/** Kept per collection while the dashboard is open. */
const kept = new Map<string, { readonly draft: Draft; readonly judgment: Judgment | undefined }>()

type State =
  | { readonly kind: 'idle' }
  | { readonly kind: 'running'; readonly done: number; readonly total: number }
  | { readonly kind: 'failed'; readonly error: Error }

export function Judging({ collection }: CollectionTab) {
  const before = kept.get(collection.name)
  const [draft, setDraft] = useState<Draft>(before?.draft ?? freshDraft(collection))
  const [judgment, setJudgment] = useState<Judgment | undefined>(before?.judgment)
  const [state, setState] = useState<State>({ kind: 'idle' })
  const running = useRef<AbortController>(undefined)
  useEffect(() => () => running.current?.abort(), [])
  useEffect(() => {
    kept.set(collection.name, { draft, judgment })
  }, [collection.name, draft, judgment])
  const set = (to: Partial<Draft>) => setDraft({ ...draft, ...to })
  const start = async () => {
    const abort = new AbortController()
    running.current = abort
    setJudgment(undefined)
    setState({ kind: 'running', done: 0, total: 0 })
    try {
      const wish = { ...draft, k: draft.k ?? kDefault }
      const onProgress = (done: number, total: number) => setState({ kind: 'running', done, total })
      setJudgment(await judge(collection.name, wish, { signal: abort.signal, onProgress }))
      setState({ kind: 'idle' })
    } catch (error) {
      setState(abort.signal.aborted ? { kind: 'idle' } : { kind: 'failed', error: asError(error) })
    }
  }
  const isRunning = state.kind === 'running'
  const isReady = draft.files.queries !== undefined && draft.files.grades !== undefined
  return (
    <div class="stack">
      <FilesPanel files={draft.files} onFiles={(files) => set({ files })} />
      <Panel title="Settings">
        <form
          class="form"
          onSubmit={(event) => {
            event.preventDefault()
            void start()
          }}
        >
          <div class="halves">
            <SettingForm side="A" collection={collection} text={draft.a} onInput={(a) => set({ a })} />
            {draft.b === undefined ? (
              <div>
                <button type="button" onClick={() => set({ b: draft.a })}>
                  Compare with a second setting
                </button>
              </div>
            ) : (
              <SettingForm
                side="B"
                collection={collection}
                text={draft.b}
                onInput={(b) => set({ b })}
                onRemove={() => set({ b: undefined })}
              />
            )}
          </div>
          <div class="columns">
            <NumberField
              label="Results judged (k)"
              value={draft.k}
              min={1}
              max={kMax}
              placeholder={String(kDefault)}
              onInput={(k) => set({ k })}
            />
          </div>
          <div class="row">
            <button type="submit" class="primary" disabled={isRunning || !isReady}>
              {isRunning ? 'Judging…' : 'Judge'}
            </button>
            {isRunning && (
              <button type="button" onClick={() => running.current?.abort()}>
                Cancel
              </button>
            )}
            {!isReady && <span class="muted">Choose the two files first.</span>}
          </div>
          {state.kind === 'running' && (
            <div role="status">
              <Bar share={state.total === 0 ? 0 : state.done / state.total} label="Queries judged" />
              <p class="muted num">
                {count(state.done)} of {count(state.total)} queries
              </p>
            </div>
          )}
          {state.kind === 'failed' && <Failure error={state.error} />}
        </form>
      </Panel>
      {judgment === undefined ? (
        <Panel>
          <Empty title="No judgment yet">
            <p>Runs every query with each setting and compares the hits with the judged documents.</p>
          </Empty>
        </Panel>
      ) : (
        <>
          <JudgmentPanel collection={collection.name} judgment={judgment} />
          <DifferentQueries collection={collection.name} judgment={judgment} />
        </>
      )}
    </div>
  )
}

function freshDraft(collection: CollectionTab['collection']): Draft {
  const [first, second] = presetsOf(collection)
  return { files: {}, a: first?.text ?? '{"fields": {}}', b: second?.text, k: undefined }
}
