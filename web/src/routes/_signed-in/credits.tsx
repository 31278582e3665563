import { createFileRoute } from '@tanstack/react-router';

export const Route = createFileRoute('/_signed-in/credits')({
  component: () => (
    <div className="mx-auto max-w-page px-4 pt-8 sm:px-6">
      <h1 className="text-4xl">Credits</h1>
    </div>
  ),
  staticData: { title: 'Credits' },
});
