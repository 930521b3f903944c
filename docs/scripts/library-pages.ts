// Generates one reference page for each library from the types and comments in its sources.
import { cp, mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { Application } from 'typedoc'

const markdown = {
  entryFileName: 'index',
  hidePageHeader: true,
  hideBreadcrumbs: true,
  sanitizeComments: true,
  useHTMLAnchors: true,
  useCodeBlocks: true,
  interfacePropertiesFormat: 'table',
  classPropertiesFormat: 'table',
  typeAliasPropertiesFormat: 'table',
  propertyMembersFormat: 'table',
  parametersFormat: 'table',
  pageTitleTemplates: { module: ({ name }: { readonly name: string }) => `The library @annal/${name}` },
}

/** `entries`: the main source of each library, below `house`. The page of a library is written to `out`, named like its folder. */
export async function writeLibraryPages(entries: readonly string[], house: string, out: string): Promise<void> {
  // TypeDoc empties the folder it writes to, so it gets an empty one.
  const made = await mkdtemp(path.join(os.tmpdir(), 'annal-library-pages-'))
  try {
    const app = await Application.bootstrapWithPlugins({
      plugin: ['typedoc-plugin-markdown'],
      entryPoints: entries.map((entry) => path.join(house, entry)),
      tsconfig: path.join(house, 'tsconfig.json'),
      outputs: [{ name: 'markdown', path: made, options: markdown as never }],
      router: 'module',
      name: 'Libraries',
      readme: 'none',
      logLevel: 'Error',
      // `npm run check` checks types. Here they are only described.
      skipErrorChecking: true,
      excludePrivate: true,
      excludeInternal: true,
      excludeExternals: true,
      disableSources: true,
    })
    const project = await app.convert()
    if (project === undefined) throw new Error(`TypeDoc could not read ${entries.join(', ')}`)
    for (const library of project.children ?? []) library.name = library.name.replace(/\/src$/, '')
    await app.generateOutputs(project)
    await rm(out, { recursive: true, force: true })
    await cp(made, out, { recursive: true })
  } finally {
    await rm(made, { recursive: true })
  }
}
