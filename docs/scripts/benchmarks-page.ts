// The page of benchmarks: what was measured last and committed, with its pictures, its machine and its command.
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'

export function benchmarksPage(results: string): string {
  const names = readdirSync(results).filter((name) => name.endsWith('.md'))
  return [
    '# Benchmarks',
    '',
    'Measured with the commands that are named, on the machines that are named, and committed as they came out in `benchmarks/results`.',
    'No figure here is promised: run the command on your machine. What is promised is on [another page](guarantees.md).',
    ...names.sort().flatMap((name) => ['', chapterOf(path.join(results, name))]),
    '',
  ].join('\n')
}

/** A page of results as a chapter, with the picture beside it drawn where it is linked, or at its end. */
function chapterOf(file: string): string {
  const text = readFileSync(file, 'utf8').trim()
  const picture = pictureOf(file.replace(/\.md$/, '.svg'))
  const chapter = text
    .replace(/^(#+ )/gm, '#$1')
    // Files beside the results are no pages of the site.
    .replaceAll(/\[([^\]]+)\]\((?!https?:)[^)]+\)/g, '`$1`')
    .replaceAll('``', '`')
  return picture === undefined ? chapter : `${chapter}\n\n${picture}`
}

function pictureOf(file: string): string | undefined {
  try {
    // A blank line would end the block, and the page would read the rest as text.
    const svg = readFileSync(file, 'utf8').replaceAll(/\n\s*/g, '')
    return `<div class="picture">${svg}</div>`
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
