// The HTTP contract, row by row: transcripts of requests and replies, told to a real server. Every row of every table is in one.
import { test } from 'tap'
import { rows } from './contract/rows.ts'
import { play, type Transcript } from './contract/transcript.ts'
import { v1Indexes } from './contract/v1-indexes.ts'
import { v1Vectors } from './contract/v1-vectors.ts'
import { v2Collections } from './contract/v2-collections.ts'
import { v2Objects } from './contract/v2-objects.ts'
import { runningApp } from './running-app.ts'

const transcripts: readonly (Transcript & { readonly api: string })[] = [
  ...[...v1Indexes, ...v1Vectors].map((transcript) => ({ ...transcript, api: 'v1' })),
  ...[...v2Collections, ...v2Objects].map((transcript) => ({ ...transcript, api: 'v2' })),
]

test('every row of the tables is in a transcript, and transcripts name no other', (t) => {
  const named = new Set(transcripts.flatMap(({ steps }) => steps.flatMap((step) => step.rows)))
  t.strictSame([...named].sort(), [...new Set(rows)].sort())
  t.end()
})

for (const transcript of transcripts) {
  for (const packed of [false, true]) {
    const form = packed ? 'MessagePack' : 'JSON'
    test(`${transcript.api}: ${transcript.name}, asked in ${form}`, async (t) => {
      await play(t, transcript, await runningApp(t), { packed })
    })
  }
}
