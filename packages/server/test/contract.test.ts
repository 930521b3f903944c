// The HTTP contract by rows: transcripts of requests and replies, sent to a real server. Every row of every table is in a transcript. The
// replies of a server without databases about data equal those for the token of a database.
import { type Test, test } from 'tap'
import { admin, rootToken } from './contract/admin.ts'
import { backups } from './contract/backups.ts'
import { license } from './contract/license.ts'
import { rows } from './contract/rows.ts'
import { type Player, play as playOnly, type Transcript } from './contract/transcript.ts'
import { v1Indexes } from './contract/v1-indexes.ts'
import { v1Vectors } from './contract/v1-vectors.ts'
import { v2Collections } from './contract/v2-collections.ts'
import { v2Objects } from './contract/v2-objects.ts'
import { createConformance } from './openapi/conformance.ts'
import { runningApp } from './running-app.ts'

const data: readonly Transcript[] = [...v1Indexes, ...v1Vectors, ...v2Collections, ...v2Objects, ...backups]

test('every row of the tables is in a transcript, and transcripts contain no other rows', (t) => {
  const named = new Set([...data, ...admin, ...license].flatMap(({ steps }) => steps.flatMap((step) => step.rows)))
  t.strictSame([...named].sort(), [...new Set(rows)].sort())
  t.end()
})

const conformance = await createConformance()

/** Every reply of a transcript also has the form that openapi.json describes. */
async function play(t: Test, transcript: Transcript, player: Player, options: { readonly packed: boolean }) {
  const faults = new Set<string>()
  const compared: Player = {
    async send(method, path, given) {
      const answer = await player.send(method, path, given)
      const fault = conformance.fault(method, path, answer)
      if (fault !== undefined) faults.add(fault)
      return answer
    },
  }
  await playOnly(t, transcript, compared, options)
  t.strictSame([...faults], [], 'replies as described')
}

for (const transcript of data) {
  test(`${transcript.name}: a plain server, in JSON`, async (t) => {
    await play(t, transcript, await runningApp(t), { packed: false })
  })
  if (transcript.plainOnly) continue
  test(`${transcript.name}: the token of a database, in MessagePack`, async (t) => {
    await play(t, transcript, await insideDatabase(t), { packed: true })
  })
}

for (const transcript of admin) {
  for (const packed of [false, true]) {
    test(`${transcript.name}: in ${packed ? 'MessagePack' : 'JSON'}`, async (t) => {
      await play(t, transcript, await runningApp(t, { rootToken }), { packed })
    })
  }
}

for (const transcript of license) {
  test(transcript.name, async (t) => {
    await play(t, transcript, await runningApp(t, { rootToken }, { licensed: false }), { packed: false })
  })
}

async function insideDatabase(t: Parameters<typeof runningApp>[0]): Promise<Player> {
  const running = await runningApp(t, { rootToken })
  const headers = { authorization: rootToken }
  const made = await running.send('POST', '/api/v2/admin/dbs', { json: { db_name: 'acme' }, headers })
  const authorization = `Bearer ${String(made.json().db_token)}`
  return { send: (method, path, options) => running.send(method, path, { headers: { authorization }, ...options }) }
}

test('the replies of most operations were compared with their description', (t) => {
  t.ok(conformance.compared.size > 60, `${conformance.compared.size} operations`)
  t.end()
})
