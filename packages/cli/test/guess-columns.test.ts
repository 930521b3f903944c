// What the columns of CSV files of other programs are guessed to be, and that nothing is imported before the guess is confirmed.
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { connect } from '@annal/client'
import { test } from 'tap'
import { guessColumns } from '../src/sources/guess-columns.ts'
import { annal, freshDir, serve } from './command.ts'

test('ids, vectors, and named texts are guessed', async (t) => {
  const file = path.join(freshDir(t), 'some.csv')
  const guess = async (content: string, texts: readonly string[] = [], delimiter = ',') => {
    writeFileSync(file, content)
    const found = await guessColumns(file, { delimiter, field: 'dense', texts: new Set(texts) })
    return found && Object.fromEntries(found.renames)
  }
  const vector = { vector: 'fields.dense' }
  for (const cell of ['0.1 0.9', '"[0.1, 0.9]"', '[ 0.1  0.9 ]', '0.1;0.9', '"0.1,9e-1"', '"[0.1 \n 0.9]"'])
    t.strictSame(await guess(`id,vector,title\n1,${cell},a\n2,${cell},b\n`), { id: 'id', ...vector }, cell)
  t.strictSame(await guess('Doc_ID\tvector\n7\t1 2\n8\t3 4\n', [], '\t'), { Doc_ID: 'id', ...vector })
  t.strictSame(await guess('id,vector\n1,1 2\n1,3 4\n'), vector, 'ids that occur twice are none')
  t.strictSame(await guess('key,vector\na,1 2\n,3 4\n'), vector, 'nor are missing ones')
  t.strictSame(await guess('id,body\n1,some words\n', ['body']), { id: 'id', body: 'fields.body' })
  for (const [content, why] of [
    ['id,title\n1,a\n', 'no vectors'],
    ['id,vector\n1,1 2\n2,1 2 3\n', 'vectors of different lengths'],
    ['id,price\n1,5\n2,6\n', 'single numbers'],
    ['id,vector\n1,1 x\n', 'a word in a vector'],
    ['id,vector\n1,1 Infinity\n', 'no number'],
    ['id,fields.v\n1,"[1,2]"\n', 'columns that say what they are'],
    ['', 'an empty file'],
  ] as const)
    t.equal(await guess(content), undefined, why)
  await t.rejects(guess('id,a,b\n1,1 2,3 4\n'), { message: /the columns a and b have vectors; choose with --column/ })
  await t.rejects(guess('id,vector\n1,"1 2\n'), { message: /some\.csv: / })
})

test('a guess is shown and needs a confirmation', async (t) => {
  const dir = freshDir(t)
  const { address } = await serve(t, path.join(dir, 'data'))
  const client = connect({ url: address })
  const file = path.join(dir, 'titles.csv')
  writeFileSync(file, 'id,vector,title\nbern,0.1 0.9,Bern\nthun,0.2 0.8,Thun\n')
  const load = (...more: string[]) =>
    annal(['import', 'titles', file, '--create', ...more], { NDD_SERVER_URL: address })
  const refused = await load()
  t.match(refused, {
    code: 64,
    err: /vector +fields\.dense +0\.1 0\.9(?:.|\n)*--column vector=fields\.dense --column id=id.*--yes/,
  })
  t.strictSame(await client.listCollections(), [])
  t.match(await load('--yes'), { code: 0, out: /^2 objects stored/ })
  const [bern] = await client.collection('titles').getMany(['bern'])
  t.match(bern, { id: 'bern', meta: { title: 'Bern' } })
})
