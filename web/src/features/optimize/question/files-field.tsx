import { FileText, Paperclip, X } from 'lucide-react';
import { type DragEvent, type ReactNode, useId, useRef, useState } from 'react';
import { figure } from '#services/platform/numbers.ts';
import { charactersOf, optimizationLimits } from '#services/optimizations/contract/requests.ts';
import { announce } from '#web/ui/feedback/announcer.tsx';
import { Button } from '#web/ui/form/button.tsx';
import { FieldError, TextArea } from '#web/ui/form/field.tsx';
import { acceptedFiles, type AttachedText } from './files.ts';
import type { ChangeFiles, Upload } from './use-uploads.ts';

/** The files of the question: chosen or dropped, with the text that the models will read. */
export function FilesField({
  files,
  uploads,
  errors,
  onAdd,
  onDismiss,
  onChange,
}: {
  files: readonly AttachedText[];
  uploads: readonly Upload[];
  /** By field of the request, such as `files.0.text`. */
  errors: ReadonlyMap<string, string> | null;
  onAdd: (files: readonly File[]) => void;
  onDismiss: (uploadId: number) => void;
  onChange: ChangeFiles;
}): ReactNode {
  const input = useRef<HTMLInputElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const [isOver, setOver] = useState(false);
  const errorId = useId();
  const reading = uploads.filter(({ error }) => error === null).length;
  const unread = uploads.length - reading;
  const isFull = files.length + reading >= optimizationLimits.files;
  const error = errors?.get('files');

  const drop = (event: DragEvent): void => {
    event.preventDefault();
    setOver(false);
    onAdd([...event.dataTransfer.files]);
  };
  const removed = (name: string): void => {
    announce(`${name} removed`);
    button.current?.focus();
  };

  return (
    <fieldset className="min-w-0">
      <legend className="mb-1.5 font-medium">Files</legend>
      <div
        role="presentation"
        className="space-y-2"
        onDragOver={(event) => {
          if (!event.dataTransfer.types.includes('Files')) return;
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={(event) => {
          if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setOver(false);
        }}
        onDrop={drop}
      >
        {files.length + uploads.length === 0 ? null : (
          <ul className="space-y-2" aria-label="Files">
            {files.map((file, index) => (
              <FileRow
                key={`file-${file.id}`}
                file={file}
                error={errors?.get(`files.${index}.text`) ?? errors?.get(`files.${index}.name`)}
                onText={(text) =>
                  onChange((all) => all.map((one) => (one.id === file.id ? { ...one, text } : one)))
                }
                onRemove={() => {
                  onChange((all) => all.filter((one) => one.id !== file.id));
                  removed(file.name);
                }}
              />
            ))}
            {uploads.map((upload) => (
              <UploadRow
                key={`upload-${upload.id}`}
                upload={upload}
                onDismiss={() => {
                  onDismiss(upload.id);
                  button.current?.focus();
                }}
              />
            ))}
          </ul>
        )}
        {unread === 0 ? null : (
          <p className="text-sm font-medium">
            {unread === 1
              ? 'One file was not read and will not be sent.'
              : `${unread} files were not read and will not be sent.`}
          </p>
        )}
        <Total files={files} />
        {error === undefined ? null : <FieldError id={errorId}>{error}</FieldError>}
        <div
          className={`flex flex-wrap items-center gap-x-4 gap-y-1 rounded-control border border-dashed p-2 sm:flex-nowrap ${isOver ? 'border-accent bg-sunken' : 'border-line-strong'}`}
        >
          <Button
            ref={button}
            className="shrink-0"
            // A button that holds the focus of a removed row stays reachable.
            aria-disabled={isFull || undefined}
            aria-describedby={error === undefined ? undefined : errorId}
            onClick={() => {
              if (isFull) announce(`Up to ${optimizationLimits.files} files`);
              else input.current?.click();
            }}
          >
            <Paperclip size={16} aria-hidden="true" />
            Add files
          </Button>
          <span className="text-sm text-ink-3">
            {isFull ? null : 'Or drop them here. '}
            Optional: the models read their text, so check what was read. Up to{' '}
            {optimizationLimits.files} files, {optimizationLimits.fileBytes / 1_000_000} MB each:
            text, Markdown, CSV, PDF or Word (.docx).
          </span>
          <input
            ref={input}
            type="file"
            multiple
            accept={acceptedFiles}
            hidden
            aria-label="Files to add"
            onChange={({ currentTarget }) => {
              onAdd([...(currentTarget.files ?? [])]);
              // The same file may be chosen again.
              currentTarget.value = '';
            }}
          />
        </div>
      </div>
    </fieldset>
  );
}

function FileRow({
  file: { name, text, warnings },
  error,
  onText,
  onRemove,
}: {
  file: AttachedText;
  error: string | undefined;
  onText: (text: string) => void;
  onRemove: () => void;
}): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const textId = useId();
  const errorId = useId();
  return (
    <li className="space-y-2 rounded-control border border-line p-3">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <FileText size={20} aria-hidden="true" className="shrink-0 text-ink-3" />
        <span className="min-w-0 grow basis-40">
          <span className="block font-medium break-words">{name}</span>
          <span className="block text-sm text-ink-3">{inCharacters(text)}</span>
        </span>
        <Button
          tone="quiet"
          aria-expanded={isOpen}
          aria-controls={isOpen ? textId : undefined}
          aria-label={`${isOpen ? 'Hide' : 'Show'} text of ${name}`}
          onClick={() => setOpen(!isOpen)}
        >
          {isOpen ? 'Hide text' : 'Show text'}
        </Button>
        <Button tone="quiet" aria-label={`Remove ${name}`} onClick={onRemove}>
          Remove
        </Button>
      </div>
      {warnings.map((warning) => (
        <p key={warning} className="text-sm text-warn">
          {warning}
        </p>
      ))}
      {isOpen ? (
        <div id={textId}>
          <TextArea
            label={`Text of ${name}`}
            name="file-text"
            rows={10}
            value={text}
            onChange={(event) => onText(event.currentTarget.value)}
            error={error}
          />
        </div>
      ) : error === undefined ? null : (
        <FieldError id={errorId}>{error}</FieldError>
      )}
    </li>
  );
}

function UploadRow({
  upload: { id, name, error },
  onDismiss,
}: {
  upload: Upload;
  onDismiss: () => void;
}): ReactNode {
  return (
    <li
      aria-busy={error === null || undefined}
      className="flex flex-wrap items-center gap-x-3 gap-y-1 rounded-control border border-line p-3"
    >
      <FileText size={20} aria-hidden="true" className="shrink-0 text-ink-3" />
      <span className="min-w-0 grow basis-40">
        <span className="block font-medium break-words">{name}</span>
        {error === null ? (
          <span className="block text-sm text-ink-3">Reading…</span>
        ) : (
          <FieldError id={`upload-${id}-error`}>{error}</FieldError>
        )}
      </span>
      {error === null ? null : (
        <Button tone="quiet" aria-label={`Dismiss ${name}`} onClick={onDismiss}>
          <X size={20} aria-hidden="true" />
        </Button>
      )}
    </li>
  );
}

function Total({ files }: { files: readonly AttachedText[] }): ReactNode {
  const characters = charactersOf(files);
  if (characters === 0) return null;
  const isOver = characters > optimizationLimits.filesText;
  return (
    <p className={isOver ? 'text-sm font-medium text-bad' : 'text-sm text-ink-2'}>
      {figure(characters)} of {figure(optimizationLimits.filesText)} characters together
    </p>
  );
}

function inCharacters(text: string): string {
  const { length } = text.trim();
  return length === 1 ? '1 character' : `${figure(length)} characters`;
}
