// Sends any API call. Paths and bodies are completed from the server's own description and the names in the database.
import { useEffect, useId, useMemo, useState } from 'preact/hooks'
import { callText } from '../../api/request.ts'
import { openapi, type Schemas } from '../../api/server.ts'
import { useAction, useLoad } from '../../load.ts'
import { Code, CopyButton } from '../../parts/code.tsx'
import { SelectField } from '../../parts/form.tsx'
import { Badge, PageHead, Panel } from '../../parts/panel.tsx'
import { Empty, Failure, Show } from '../../parts/states.tsx'
import { access } from '../../session.ts'
import { bytes, ms } from '../../show.ts'
import { collections } from '../../watch.ts'
import { filterKeysOf } from '../filter/known-keys.ts'
import { BodyEditor } from './body-editor.tsx'
import { bodyExample, type Call, callsOf, matching, propertiesOf } from './calls.ts'
import { collectionOf, completionsAt, type KnownNames, pathsFor } from './completions.ts'
import { keepRequest, type Method, methods } from './console-store.ts'
import { HistoryPanel } from './history-panel.tsx'
import { statusKind } from './status-kind.ts'
import { TabBar } from './tab-bar.tsx'
import { useTabs } from './use-tabs.ts'

interface Answer {
  readonly status: number
  readonly text: string
  readonly ms: number
}

const shownMax = 200_000

export function Console() {
  const described = useLoad((signal) => openapi({ signal }), ['openapi'])
  return (
    <>
      <PageHead title="Console" />
      <Show source={described}>
        {(document) => <Desk calls={callsOf(document)} schemas={document.components?.schemas ?? {}} />}
      </Show>
    </>
  )
}

function Desk({ calls, schemas }: { readonly calls: readonly Call[]; readonly schemas: Schemas }) {
  const panelId = useId()
  const { tabs, current, change, open, close, choose } = useTabs()
  const [answers, setAnswers] = useState<ReadonlyMap<number, Answer>>(new Map())
  const { busy, error, run, clear } = useAction()
  const choosing = (number: number) => {
    clear()
    choose(number)
  }
  const known = matching(calls, current.method, current.path)
  const takesBody = known === undefined ? current.method !== 'GET' : known.body !== undefined
  const exampleOf = (method: string, path: string): string => {
    const call = matching(calls, method, path)
    return call?.body === undefined ? '' : JSON.stringify(bodyExample(call.body, schemas), null, 2)
  }
  /** Another route begins with its example, unless the body was changed. */
  const goTo = (to: { readonly method?: Method; readonly path?: string }) => {
    const { method, path, body } = current
    const next = { method, path, ...to }
    const isUntouched = body.trim() === '' || body === exampleOf(method, path)
    const isOther = matching(calls, next.method, next.path)?.template !== known?.template || next.method !== method
    change({ ...next, ...(isUntouched && isOther && { body: exampleOf(next.method, next.path) }) })
  }
  useEffect(() => {
    if (current.body === '' && known?.body !== undefined) change({ body: exampleOf(current.method, current.path) })
  }, [current.number])
  const names = useKnownNames(collectionOf(current.path))
  const send = () =>
    run(async () => {
      const { method, path, body, scope, number } = current
      const raw = takesBody && body.trim() !== '' ? { raw: { type: 'application/json', data: body } } : {}
      const answer = await callText(method, path, { ...raw, scope, byHand: true })
      setAnswers((before) => new Map(before).set(number, answer))
      keepRequest({ method, path, body: takesBody ? body : '', scope }, answer.status, Date.now())
    })
  const answer = answers.get(current.number)
  return (
    <div class="stack">
      <TabBar
        tabs={tabs}
        current={current.number}
        panelId={panelId}
        onChoose={choosing}
        onAdd={() => {
          clear()
          open({})
        }}
        onClose={(number) => {
          clear()
          close(number)
        }}
      />
      <div class="stack" role="tabpanel" id={panelId} aria-labelledby={`${panelId}-${current.number}`}>
        <Panel title="Call" actions={known && <span class="muted">{known.summary}</span>}>
          <form
            class="form"
            onSubmit={(event) => {
              event.preventDefault()
              void send()
            }}
          >
            <div class="console-line">
              <select
                aria-label="Method"
                value={current.method}
                onInput={(event) => goTo({ method: event.currentTarget.value as Method })}
              >
                {methods.map((name) => (
                  <option key={name} value={name}>
                    {name}
                  </option>
                ))}
              </select>
              <input
                aria-label="Path"
                class="mono"
                list={`${panelId}-paths`}
                value={current.path}
                spellcheck={false}
                onInput={(event) => goTo({ path: event.currentTarget.value })}
              />
              <datalist id={`${panelId}-paths`}>
                {pathsFor(calls, { ...current, ...names }).map(({ path, summary }) => (
                  <option key={path} value={path} label={summary} />
                ))}
              </datalist>
              <button type="submit" class="primary" disabled={busy || !current.path.startsWith('/')}>
                {busy ? 'Sending…' : 'Send'}
              </button>
            </div>
            {access.value.kind === 'root' && (
              <SelectField
                label="As"
                value={current.scope}
                options={[
                  ['data', `database ${access.value.database ?? ''}`],
                  ['control', 'root'],
                ]}
                onInput={(scope) => change({ scope })}
              />
            )}
            {takesBody && (
              <BodyEditor
                key={current.number}
                value={current.body}
                onInput={(body) => change({ body })}
                complete={(place) => completionsAt(place, known?.body, schemas, names)}
              />
            )}
            {known?.body && <BodyFields body={known.body} schemas={schemas} />}
            {error && <Failure error={error} />}
          </form>
        </Panel>
        {answer === undefined ? (
          <Panel>
            <Empty title="No reply yet">
              <p>Choose a path. Paths and bodies come from the server's OpenAPI description.</p>
            </Empty>
          </Panel>
        ) : (
          <AnswerPanel answer={answer} />
        )}
      </div>
      <HistoryPanel
        onOpen={(request) => {
          clear()
          open(request)
        }}
      />
    </div>
  )
}

/** The names that completions offer; filter keys only of a collection that exists. */
function useKnownNames(collection: string | undefined): KnownNames {
  const all = collections.value ?? []
  const found = all.find(({ name, condition }) => name === collection && condition === 'ready')
  const keys = useLoad(
    async (signal) => (found === undefined ? [] : filterKeysOf(found.name, { signal })),
    [found?.name ?? ''],
  )
  return {
    collections: all.map(({ name }) => name),
    fields: found?.fields.map(({ name }) => name) ?? [],
    filterKeys: keys.kind === 'ready' ? keys.value : [],
  }
}

function BodyFields(props: { readonly body: NonNullable<Call['body']>; readonly schemas: Schemas }) {
  const properties = useMemo(() => propertiesOf(props.body, props.schemas), [props.body, props.schemas])
  if (properties.length === 0) return null
  return (
    <details>
      <summary>Body properties</summary>
      <dl class="facts">
        {properties.map(({ path, type, description, required }) => (
          <>
            <dt class="mono wrap-anywhere">
              {path}
              {required && <span class="bad"> *</span>}
            </dt>
            <dd>
              <span class="muted">{type}</span> {description}
            </dd>
          </>
        ))}
      </dl>
    </details>
  )
}

function AnswerPanel({ answer }: { readonly answer: Answer }) {
  const text = pretty(answer.text)
  return (
    <Panel
      title="Reply"
      actions={
        <>
          <Badge kind={statusKind(answer.status)}>{answer.status}</Badge>
          <span class="muted num">
            {ms(answer.ms)} · {bytes(new Blob([answer.text]).size)}
          </span>
          <CopyButton text={answer.text} />
        </>
      }
    >
      <Code label="Reply" text={text.length > shownMax ? `${text.slice(0, shownMax)}\n…` : text} rows={36} />
    </Panel>
  )
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
