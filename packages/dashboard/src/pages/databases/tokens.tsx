// Tokens of one database. A token is shown once, when it is created.

import type { TokenInfo } from '@annal/client'
import { useState } from 'preact/hooks'
import { client } from '../../api/client.ts'
import { useAction, useLoad } from '../../load.ts'
import { Code, CopyButton } from '../../parts/code.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { SelectField, TextField } from '../../parts/form.tsx'
import { Badge } from '../../parts/panel.tsx'
import { Scrollable } from '../../parts/scrollable.tsx'
import { Empty, Failure, Show } from '../../parts/states.tsx'
import { tell } from '../../parts/toast.tsx'
import { dateTime } from '../../show.ts'

export function NewToken(props: { readonly title: string; readonly token: string; readonly onClose: () => void }) {
  return (
    <Dialog
      title={props.title}
      onClose={props.onClose}
      footer={
        <button type="button" class="primary" onClick={props.onClose}>
          I have stored it
        </button>
      }
    >
      <div class="form">
        <p>
          This is the new token. <strong>It is shown only once</strong>; the server stores only its hash.
        </p>
        <Code text={props.token} label="Token" />
        <div>
          <CopyButton text={props.token} label="Copy the token" />
        </div>
      </div>
    </Dialog>
  )
}

export function Tokens({ database, onClose }: { readonly database: string; readonly onClose: () => void }) {
  const [name, setName] = useState('')
  const [type, setType] = useState<TokenInfo['type']>('rw')
  const [made, setMade] = useState<string>()
  const tokens = useLoad((signal) => client('control').databases.tokens(database).list({ signal }), [database])
  const { busy, error, run } = useAction()
  const create = () =>
    run(async () => {
      setMade(await client('control').databases.tokens(database).create(name, type))
      setName('')
      tokens.again()
    })
  const remove = (token: TokenInfo) =>
    run(async () => {
      await client('control').databases.tokens(database).delete(token.name)
      tell(`Token ${token.name} deleted.`)
      tokens.again()
    })
  if (made !== undefined) {
    return <NewToken title={`New token of ${database}`} token={made} onClose={() => setMade(undefined)} />
  }
  return (
    <Dialog title={`Tokens of ${database}`} wide onClose={onClose}>
      <div class="stack">
        <form
          class="token-form"
          onSubmit={(event) => {
            event.preventDefault()
            void create()
          }}
        >
          <TextField label="New token name" value={name} onInput={setName} />
          <SelectField
            label="Access"
            value={type}
            options={[
              ['rw', 'read and write'],
              ['r', 'read only'],
            ]}
            onInput={setType}
          />
          <button type="submit" class="primary" disabled={busy || name === ''}>
            Create token
          </button>
        </form>
        {error && <Failure error={error} />}
        <Show source={tokens}>
          {(list) =>
            list.length === 0 ? (
              <Empty title="No tokens: only the root token can use this database" />
            ) : (
              <Scrollable>
                <table class="tight">
                  <tbody>
                    {list.map((token) => (
                      <tr key={token.name}>
                        <td>
                          <strong>{token.name}</strong>
                        </td>
                        <td>
                          <Badge kind={token.type === 'rw' ? 'accent' : undefined}>
                            {token.type === 'rw' ? 'read and write' : 'read only'}
                          </Badge>
                        </td>
                        <td class="muted fit">{dateTime(token.createdAt.getTime())}</td>
                        <td class="fit">
                          <button
                            type="button"
                            class="compact danger"
                            disabled={busy}
                            aria-label={`Delete token ${token.name}`}
                            onClick={() => void remove(token)}
                          >
                            Delete
                          </button>
                        </td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </Scrollable>
            )
          }
        </Show>
      </div>
    </Dialog>
  )
}
