// Sends any API call. Paths and bodies are completed from the server's own description.
import { useEffect, useId, useMemo, useState } from 'preact/hooks'
import { parameters } from '../../address.ts'
import { callText } from '../../api/request.ts'
import { openapi, type Schemas } from '../../api/server.ts'
import { useAction, useLoad } from '../../load.ts'
import { Code, CopyButton } from '../../parts/code.tsx'
import { SelectField, TextArea } from '../../parts/form.tsx'
import { Badge, PageHead, Panel } from '../../parts/panel.tsx'
import { Empty, Failure, Show } from '../../parts/states.tsx'
import { access } from '../../session.ts'
import { bytes, ms } from '../../show.ts'
import { collections } from '../../watch.ts'
import { bodyExample, type Call, callsOf, matching, propertiesOf } from './calls.ts'

interface Answer {
  readonly status: number
  readonly text: string
  readonly ms: number
}

const shownMax = 200_000
const methods = ['GET', 'POST', 'PUT', 'DELETE'] as const

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
  const id = useId()
  const query = parameters.value
  const [method, setMethod] = useState(methods.find((name) => name === query.get('method')) ?? 'GET')
  const [path, setPath] = useState(query.get('path') ?? '/api/v2/stats')
  const [body, setBody] = useState('')
  const [scope, setScope] = useState<'data' | 'control'>('data')
  const [answer, setAnswer] = useState<Answer>()
  const { busy, error, run } = useAction()
  const known = matching(calls, method, path)
  const takesBody = known === undefined ? method !== 'GET' : known.body !== undefined
  useEffect(() => {
    if (known?.body !== undefined) setBody(JSON.stringify(bodyExample(known.body, schemas), null, 2))
  }, [known?.template, known?.method])
  const send = () =>
    run(async () => {
      const raw = takesBody && body.trim() !== '' ? { raw: { type: 'application/json', data: body } } : {}
      setAnswer(await callText(method, path, { ...raw, scope, byHand: true }))
    })
  return (
    <div class="stack">
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
              value={method}
              onInput={(event) => setMethod(event.currentTarget.value as (typeof methods)[number])}
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
              list={`${id}-paths`}
              value={path}
              spellcheck={false}
              onInput={(event) => setPath(event.currentTarget.value)}
            />
            <datalist id={`${id}-paths`}>
              {completions(calls, method).map(({ path: offered, summary }) => (
                <option key={offered} value={offered} label={summary} />
              ))}
            </datalist>
            <button type="submit" class="primary" disabled={busy || !path.startsWith('/')}>
              {busy ? 'Sending…' : 'Send'}
            </button>
          </div>
          {access.value.kind === 'root' && (
            <SelectField
              label="As"
              value={scope}
              options={[
                ['data', `database ${access.value.database ?? ''}`],
                ['control', 'root'],
              ]}
              onInput={setScope}
            />
          )}
          {takesBody && <TextArea label="Body" rows={12} value={body} onInput={setBody} />}
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
  )
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
          <Badge kind={answer.status < 400 ? 'good' : answer.status < 500 ? 'warn' : 'bad'}>{answer.status}</Badge>
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

/** Path templates, and paths filled in with the existing collections. */
function completions(calls: readonly Call[], method: string) {
  return calls
    .filter((call) => call.method === method)
    .flatMap(({ template, summary }) => [
      { path: template, summary },
      ...(template.startsWith('/api/v2/collection/{name}')
        ? (collections.value ?? []).slice(0, 20).map(({ name }) => ({
            path: template.replace('{name}', encodeURIComponent(name)),
            summary,
          }))
        : []),
    ])
}
