// The licence: what there is, a trial, and activating one that was pasted or chosen as a file.
import { useState } from 'preact/hooks'
import { takeTrial, validateLicence } from '../api/licence.ts'
import { info, type License } from '../api/server.ts'
import { isActive, licenceWarning } from '../licence-term.ts'
import { useAction, useLoad } from '../load.ts'
import { TextArea } from '../parts/form.tsx'
import { Icon } from '../parts/icon.tsx'
import { Badge, Facts, PageHead, Panel } from '../parts/panel.tsx'
import { Empty, Failure, Show } from '../parts/states.tsx'
import { tell } from '../parts/toast.tsx'
import { access } from '../session.ts'
import { refreshInfo } from '../watch.ts'

export function Licence() {
  const about = useLoad((signal) => info({ signal }), ['info'])
  const changed = (message: string) => {
    tell(message)
    void refreshInfo().then(about.again)
  }
  return (
    <>
      <PageHead title="Licence" />
      <Show of={about}>
        {({ license, mode }) =>
          mode === 'plain' ? (
            <Panel>
              <Empty title="This server needs no licence">
                <p>It has one database. A root token turns databases, tokens and licences on.</p>
              </Empty>
            </Panel>
          ) : (
            <div class="halves">
              <Status of={license} />
              <Activate onDone={changed} withTrial={!isActive(license)} />
            </div>
          )
        }
      </Show>
    </>
  )
}

function Status({ of }: { readonly of: License | null }) {
  if (of === null) {
    return (
      <Panel title="Status" actions={<Badge kind="bad">No active licence</Badge>}>
        <p>
          Until a licence is active the server is restricted: what there is can be listed and described, and nothing can
          be changed, searched or backed up. Everything unlocks at once.
        </p>
      </Panel>
    )
  }
  const warning = licenceWarning(of)
  return (
    <Panel title="Status" actions={<Badge kind={isActive(of) ? 'good' : 'bad'}>{of.status ?? 'unknown'}</Badge>}>
      <div class="stack tight">
        {warning && (
          <div class="notice warn">
            <Icon name="warning" /> {warning}
          </div>
        )}
        <Facts
          of={[
            ['Plan', of.plan_type ?? '–'],
            ['Licence id', <span class="mono">{of.license_id ?? '–'}</span>],
            ['From', of.start_date ?? '–'],
            ['Until', of.end_date ?? '–'],
          ]}
        />
      </div>
    </Panel>
  )
}

function Activate(props: { readonly withTrial: boolean; readonly onDone: (message: string) => void }) {
  const [text, setText] = useState('')
  const activation = useAction()
  const trial = useAction()
  return (
    <div class="stack">
      <Panel title="Activate">
        <form
          class="form"
          onSubmit={(event) => {
            event.preventDefault()
            void activation.run(async () => {
              const { message } = await validateLicence(text)
              setText('')
              props.onDone(message)
            })
          }}
        >
          <TextArea label="Contents of license.lic" value={text} onInput={setText} rows={6} />
          <div class="row">
            <button type="submit" class="primary" disabled={activation.busy || text.trim() === ''}>
              {activation.busy ? 'Checking…' : 'Activate'}
            </button>
            <label class="button">
              Choose license.lic
              <input
                class="visually-hidden"
                type="file"
                accept=".lic,text/plain"
                onChange={(event) => void event.currentTarget.files?.[0]?.text().then(setText)}
              />
            </label>
          </div>
          {activation.error && <Failure error={activation.error} />}
        </form>
      </Panel>
      {props.withTrial && (
        <Panel title="Trial">
          <div class="form">
            <p class="muted">One month, once for this data directory.</p>
            {access.value.kind === 'root' ? (
              <div>
                <button
                  type="button"
                  disabled={trial.busy}
                  onClick={() => void trial.run(async () => props.onDone((await takeTrial()).message))}
                >
                  {trial.busy ? 'Starting…' : 'Start the trial'}
                </button>
              </div>
            ) : (
              <p class="muted">Sign in with the root token to start it.</p>
            )}
            {trial.error && <Failure error={trial.error} />}
          </div>
        </Panel>
      )}
    </div>
  )
}
