// Pages as programs: what stands in their fences, in order, as one script of bash that a reader could have typed, and what the
// pages say is printed.
import { readFileSync } from 'node:fs'

export interface Step {
  readonly language: 'sh' | 'ts' | 'python'
  readonly code: string
  /** Lines that the page shows as printed, by this step or by those before it that show nothing. */
  readonly printed: readonly string[]
}

const fence = /^```(\w*)\n([\s\S]*?)^```$/gm
/** Fences that are only to be looked at. */
const shown = ['json', '']

/** Throws at a language that nobody runs, so that no block is left out unseen. */
export function stepsOf(page: string): Step[] {
  const steps: Step[] = []
  for (const [, language = '', code = ''] of readFileSync(page, 'utf8').matchAll(fence)) {
    const last = steps.at(-1)
    if (language === 'text' && last) steps[steps.length - 1] = { ...last, printed: code.trim().split('\n') }
    else if (language === 'sh' || language === 'ts' || language === 'python')
      steps.push({ language, code, printed: [] })
    else if (!shown.includes(language)) throw new Error(`${page}: nobody runs ${language}`)
  }
  return steps
}

/** Between the output of one step and the next. */
export const divider = '-- step --'

/** Programs are files beside the script, made by `fileOf`. */
export function scriptOf(steps: readonly Step[], fileOf: (step: Step, at: number) => string): string {
  const commands = steps.map((step, at) => {
    if (step.language === 'sh') return step.code
    return `${step.language === 'ts' ? 'node --conditions=annal-source' : 'python3'} ${fileOf(step, at)}\n`
  })
  // Whatever fails, the servers it started end with it.
  return `trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n${commands.join(`echo '${divider}'\n`)}`
}

/** What a page shows and no step up to there printed. */
export function missing(steps: readonly Step[], stdout: string): string[] {
  const outputs = stdout.split(`${divider}\n`)
  let since = 0
  return steps.flatMap(({ printed }, at) => {
    if (printed.length === 0) return []
    const output = outputs.slice(since, at + 1).join('')
    since = at + 1
    return printed.filter((line) => !output.includes(line.trim())).map((line) => `${line.trim()} is not in:\n${output}`)
  })
}
