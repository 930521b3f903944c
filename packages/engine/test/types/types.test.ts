// The errors that an editor marks are the same in the library and in the client, with their sources and with their built declarations.
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { Compiled, checkBuilt, type Mode, type Source } from './compiler.ts'
import { type Home, homes } from './homes.ts'
import { right, wrong } from './programs.ts'
import { shapesProgram, sharedNames } from './shapes.ts'

const folder = fileURLToPath(new URL('.', import.meta.url))

interface Checked extends Source {
  readonly program: string
  /** Ranges that must be marked. */
  readonly marked: readonly { readonly at: string; readonly from: number }[]
}

function programsFor({ name, preamble }: Home): readonly Checked[] {
  const rightOnes = right.map((program, i) => ({
    file: path.join(folder, `${name}-right-${i}.ts`),
    text: preamble + program,
    program,
    marked: [],
  }))
  const wrongOnes = wrong.map((program, i) => {
    const text = preamble + program.replace(/[‹›]/g, '')
    const from = preamble.length + program.indexOf('‹')
    const end = preamble.length + program.indexOf('›') - 1
    return {
      file: path.join(folder, `${name}-wrong-${i}.ts`),
      text,
      program,
      marked: [{ at: text.slice(from, end), from }],
    }
  })
  return [...rightOnes, ...wrongOnes]
}

test('there are at least twenty programs of each kind, and each wrong program has one error', async (t) => {
  t.ok(right.length >= 20 && wrong.length >= 20, `${right.length} right, ${wrong.length} wrong`)
  for (const program of wrong) t.match(program, /^[^‹›]*‹[^‹›]+›[^‹›]*$/)
})

for (const mode of ['sources', 'built'] satisfies Mode[]) {
  for (const home of homes) {
    test(`${home.module}, ${mode}: correct programs compile, and in wrong programs exactly the error is marked`, async (t) => {
      if (mode === 'built') checkBuilt()
      const programs = programsFor(home)
      const compiled = new Compiled(programs, mode)
      for (const { file, program, marked } of programs) {
        const faults = compiled.faultsIn(file)
        t.same(
          faults.map(({ at, from }) => ({ at, from })),
          marked,
          program,
          {
            messages: faults.map(({ message }) => message),
            ...(mode === 'built' && { declarations: 'those of the last npm run build' }),
          },
        )
      }
      if (home.name === 'engine' || mode === 'sources') return
      const files = compiled.program.getSourceFiles().map(({ fileName }) => fileName)
      t.ok(files.some((file) => file.includes('/packages/client/dist/')))
      t.same(
        files.filter((file) => file.includes('/packages/engine/') && !file.startsWith(folder)),
        [],
        'the declarations of the client do not need the engine',
      )
    })
  }

  test(`the types that both homes export fit each other, ${mode}`, async (t) => {
    if (mode === 'built') checkBuilt()
    t.ok(sharedNames().length > 40, `${sharedNames().length} types`)
    const source = { file: path.join(folder, 'shapes-program.ts'), text: shapesProgram() }
    const faults = new Compiled([source], mode).faultsIn(source.file)
    const lineOf = (from: number) => source.text.slice(source.text.lastIndexOf('\n', from) + 1).split('\n')[0]
    t.same(
      faults.map(({ from, message }) => `${lineOf(from)} ${message}`),
      [],
    )
  })
}
