import {
  Controller,
  Get,
  Inject,
  Post,
  Req,
  Res,
  UseGuards,
  VERSION_NEUTRAL,
  type Type,
} from '@nestjs/common';
import type { Answer } from '../../answers/answer.js';
import { statusGuard } from '../../background/status-guard.js';
import type { IncomingRequest } from '../../request/incoming-request.js';
import { HttpPlatformHost } from '../../response/http-platform-host.js';
import { failureOf } from './failure.js';
import { html } from './html.js';
import { Links, type PageName } from './links.js';
import { OperatorPage } from './operator-page.js';
import { assetAnswer, htmlAnswer } from './page-answer.js';
import { Fields, formOf, queryOf, type PageRequest } from './page-request.js';
import type { OperatorPageOptions } from './page.options.js';
import { foreignForm } from './same-origin.js';
import { SCRIPT } from './script.js';
import { ICON, STYLE } from './style.js';
import { NotIdempotent } from '../../coverage/not-idempotent.decorator.js';
import { SWAGGER } from '../../openapi/swagger-metadata.js';

const ASSETS = {
  'style.css': assetAnswer('text/css', STYLE),
  'script.js': assetAnswer('text/javascript', SCRIPT),
  'icon.svg': assetAnswer('image/svg+xml', ICON),
};

/**
 * The routes of the page. Answers go to the platform directly: the application's
 * pipes would refuse the forms, and its interceptors would wrap the pages. Nest
 * applies neither to `@Req()` and `@Res()`.
 */
export function operatorPageController({ path, guards = [] }: OperatorPageOptions): Type {
  @NotIdempotent('each action names the state that it was decided on, and changes nothing twice')
  @Controller({ path, version: VERSION_NEUTRAL })
  @UseGuards(statusGuard(guards, 'operatorPage.guards'))
  class IdempotencyOperatorPageController {
    constructor(
      @Inject(OperatorPage) private readonly page: OperatorPage,
      @Inject(HttpPlatformHost) private readonly http: HttpPlatformHost,
    ) {}

    @Get()
    overview(@Req() request: IncomingRequest, @Res() response: unknown): Promise<void> {
      return this.serve('', request, response, (asked) => this.page.overview(asked));
    }

    @Get('keys')
    keys(@Req() request: IncomingRequest, @Res() response: unknown): Promise<void> {
      return this.serve('keys', request, response, (asked) => this.page.keys(asked));
    }

    @Get('key')
    key(@Req() request: IncomingRequest, @Res() response: unknown): Promise<void> {
      return this.serve('key', request, response, (asked) => this.page.key.show(asked));
    }

    @Get('letters')
    letters(@Req() request: IncomingRequest, @Res() response: unknown): Promise<void> {
      return this.serve('letters', request, response, (asked) => this.page.letters.list(asked));
    }

    @Get('letter')
    letter(@Req() request: IncomingRequest, @Res() response: unknown): Promise<void> {
      return this.serve('letter', request, response, (asked) => this.page.letters.show(asked));
    }

    @Post('decide')
    decide(@Req() request: IncomingRequest, @Res() response: unknown): Promise<void> {
      return this.act('decide', request, response, (asked) => this.page.key.decide(asked));
    }

    @Post('bulk')
    bulk(@Req() request: IncomingRequest, @Res() response: unknown): Promise<void> {
      return this.act('bulk', request, response, (asked) => this.page.bulk(asked));
    }

    @Post('requeue')
    requeue(@Req() request: IncomingRequest, @Res() response: unknown): Promise<void> {
      return this.act('requeue', request, response, (asked) => this.page.letters.requeue(asked));
    }

    @Get('style.css')
    style(@Req() request: IncomingRequest, @Res() response: unknown): Promise<void> {
      return this.serve('style.css', request, response, async () => ASSETS['style.css']);
    }

    @Get('script.js')
    script(@Req() request: IncomingRequest, @Res() response: unknown): Promise<void> {
      return this.serve('script.js', request, response, async () => ASSETS['script.js']);
    }

    @Get('icon.svg')
    icon(@Req() request: IncomingRequest, @Res() response: unknown): Promise<void> {
      return this.serve('icon.svg', request, response, async () => ASSETS['icon.svg']);
    }

    /** A form that changes something: it has to come from the page itself. */
    private act(
      name: PageName,
      request: IncomingRequest,
      response: unknown,
      work: (asked: PageRequest) => Promise<Answer>,
    ): Promise<void> {
      return this.serve(name, request, response, async (asked) => {
        const foreign = foreignForm(request);
        if (foreign !== undefined) {
          return this.page.frame.refuse(asked, 403, 'Nothing was changed', foreign);
        }
        const form = formOf(request);
        if (!form) {
          return this.page.frame.refuse(
            asked,
            415,
            'Nothing was changed',
            'The form could not be read. The application has to have a parser for application/x-www-form-urlencoded; Nest has one by default.',
          );
        }
        return work({ ...asked, form });
      });
    }

    private async serve(
      name: PageName,
      request: IncomingRequest,
      response: unknown,
      work: (asked: PageRequest) => Promise<Answer>,
    ): Promise<void> {
      // First: an exception of `access` is answered by the application's own filters.
      const visitor = await this.page.access.visitor(request);
      const { platform } = this.http;
      if (!visitor) return platform.send(response, NOT_FOR_YOU);
      const links = new Links(request, name);
      const asked = { raw: request, visitor, links, query: queryOf(request), form: new Fields([]) };
      platform.send(
        response,
        await work(asked).catch((error: unknown) => this.failed(asked, error)),
      );
    }

    private failed(asked: PageRequest, error: unknown): Answer {
      const { status, title, detail } = failureOf(error);
      return this.page.frame.refuse(asked, status, title, detail);
    }
  }
  // A page for people is no part of the API.
  Reflect.defineMetadata(SWAGGER.excludeController, [true], IdempotencyOperatorPageController);
  return IdempotencyOperatorPageController;
}

/** Says nothing about what is here. */
const NOT_FOR_YOU = htmlAnswer(
  html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <title>Not allowed</title>
      </head>
      <body>
        <p>Not allowed.</p>
      </body>
    </html>`,
  403,
);
