import { benchPanels } from './panels.ts';
benchPanels();
