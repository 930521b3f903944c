// The pages before sign-in: the server is starting, does not respond, or requires a token.
import { useState } from 'preact/hooks'
import { checkServer, type Gate, signIn } from '../gate.ts'
import { useAction } from '../load.ts'
import mark from '../mark.svg'
import { Check, TextField } from '../parts/form.tsx'
import { Bar } from '../parts/panel.tsx'
import { Failure } from '../parts/states.tsx'
import { count } from '../show.ts'

type ClosedGate = Exclude<Gate, { kind: 'in' | 'out-of-service' }>

export function SignIn({ state }: { readonly state: ClosedGate }) {
  return (
    <main class="gate">
      <div class="card stack">
        <div class="brand">
          <img src={mark} alt="" /> Annal
        </div>
        <div class="panel">
          <div class="body stack">
            <State state={state} />
          </div>
        </div>
      </div>
    </main>
  )
}

function State({ state }: { readonly state: ClosedGate }) {
  switch (state.kind) {
    case 'checking':
      return <p class="muted">Connecting to the server…</p>
    case 'unreachable':
      return (
        <>
          <h1>The server does not respond</h1>
          <p class="muted">It may be stopped, or the network may be down. This page retries automatically.</p>
          <div>
            <button type="button" onClick={() => void checkServer()}>
              Retry now
            </button>
          </div>
        </>
      )
    case 'starting':
      return <Starting progress={state.progress} />
    case 'failed':
      return (
        <>
          <h1>The server has failed</h1>
          {state.reasons.map((reason) => (
            <p key={reason}>{reason}</p>
          ))}
          <p class="muted">See the server log for details. All acknowledged writes are on disk.</p>
        </>
      )
    case 'token':
      return <TokenForm error={state.error} />
  }
}

function Starting({ progress }: { readonly progress: Extract<Gate, { kind: 'starting' }>['progress'] }) {
  const share = progress === undefined || progress.total === 0 ? 0 : progress.done / progress.total
  const jobs: Record<string, string> = {
    'snapshot-download': 'Downloading a snapshot',
    'snapshot-load': 'Loading the snapshot',
    replay: 'Replaying the log',
  }
  return (
    <>
      <h1>The server is starting</h1>
      {progress === undefined ? (
        <p class="muted">It is reading its log. Every acknowledged write is available when it is done.</p>
      ) : (
        <>
          <Bar share={share} label="Start progress" />
          <p class="muted num">
            {jobs[progress.job] ?? progress.job}
            {progress.collection && ` of ${progress.collection}`}: {count(progress.done)} of {count(progress.total)}{' '}
            {progress.unit}
          </p>
        </>
      )}
    </>
  )
}

function TokenForm({ error: before }: { readonly error: Error | undefined }) {
  const [token, setToken] = useState('')
  const [keep, setKeep] = useState(true)
  const { busy, error, run } = useAction()
  const shown = error ?? before
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault()
        if (token.trim() !== '') void run(() => signIn(token.trim(), { keep }))
      }}
    >
      <h1>Sign in</h1>
      <p class="muted">This server requires a token: the server token, a database token, or the root token.</p>
      <TextField
        label="Token"
        type="password"
        value={token}
        onInput={setToken}
        autocomplete="current-password"
        focus
        error={shown === undefined ? undefined : 'Invalid token.'}
      />
      <Check label="Remember until this tab is closed" checked={keep} onInput={setKeep} />
      {shown && <Failure error={shown} />}
      <button type="submit" class="primary" disabled={busy || token.trim() === ''}>
        {busy ? 'Signing in…' : 'Sign in'}
      </button>
    </form>
  )
}
