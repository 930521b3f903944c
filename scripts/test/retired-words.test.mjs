// The check of retired words: how a word may be written, what counts as prose, and what is allowed to keep it.
import t from 'tap'
import { faultsOfFile } from '../check/retired-words.ts'

const retired = {
  clean: [],
  exempt: [],
  words: [
    { word: 'drop collection', better: 'deleteCollection', scope: 'always' },
    { word: 'next door', better: 'adjacent', scope: 'prose' },
  ],
  allowed: [{ text: 'legacyDropCollection', in: 'allowed/', why: 'an alias' }],
}

const linesOf = (file, text) => faultsOfFile(file, text, retired).map((fault) => fault.split(' is retired')[0])

t.test('a word is found in every spelling of a name, with its line', async (t) => {
  const text =
    'const a = 1\ndropCollection()\nDROP_COLLECTION\n// drop-collection\nthe_drop_collection_all\ndrop(collection)\n'
  t.strictSame(
    linesOf('x.ts', text),
    [2, 3, 4, 5, 6].map((line) => `x.ts:${line}: "drop collection"`),
  )
  t.strictSame(linesOf('x.ts', 'dropCollections()\nairdropCollection\n'), [])
})

t.test('prose is comments, strings of several words and text between tags, not names and keys', async (t) => {
  const text = [
    'const nextDoor = 1 // next door',
    'say("Next door")',
    "const key = 'next-door'",
    'const text = `Next ' + '$' + '{nextDoor} next door`',
    'const shown = <p title="Next door">next door</p>',
  ].join('\n')
  t.strictSame(
    linesOf('x.tsx', text),
    [1, 2, 4, 5].map((line) => `x.tsx:${line}: "next door"`),
  )
  t.strictSame(linesOf('x.py', 'next_door = 1  # next door\n'), ['x.py:1: "next door"'])
  t.strictSame(linesOf('x.md', 'The door `next door` is code.\nnext door\n'), ['x.md:2: "next door"'])
})

t.test('allowed text keeps its word in the files it is allowed in', async (t) => {
  t.strictSame(linesOf('allowed/x.ts', 'legacyDropCollection()'), [])
  t.strictSame(linesOf('other/x.ts', 'legacyDropCollection()'), ['other/x.ts:1: "drop collection"'])
})
