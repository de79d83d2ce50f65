// Tests of the page in a real browser, against a real fabricd, and what is measured there. The browser is the system's own:
// Playwright downloads none.

import { defineConfig } from '@playwright/test'
import { chromium } from './lib/chromium'

export default defineConfig({
  workers: 1, // fabric, browser and test share few cores as it is
  timeout: 120_000, // a busy machine may need them
  expect: { timeout: 30_000 }, // for what must happen; only a failing test waits so long
  forbidOnly: Boolean(process.env.CI),
  reporter: [['list', { printSteps: false }]],
  outputDir: 'test-results',
  preserveOutput: 'always',
  use: {
    browserName: 'chromium',
    viewport: { width: 1280, height: 720 },
    colorScheme: 'dark',
    launchOptions: chromium(),
    actionTimeout: 30_000,
    screenshot: 'only-on-failure',
  },
  projects: [
    { name: 'tests', testDir: 'tests' },
    { name: 'screenshots', testDir: 'screenshots' },
    { name: 'bench', testDir: 'bench', timeout: 30 * 60_000 },
  ],
})
