/* --- The run ---------------------------------------------------------------
 */

static void must(int status, const char *what)
{
    if (status == 0)
        return;
    fprintf(stderr, "%s returns %d\n", what, status);
    exit(2);
}

static void *upload(const struct matrix *matrix, cudaStream_t stream)
{
    void *memory = NULL;

    must(cudaMalloc(&memory, matrix->total), "cudaMalloc");
    must(cudaMemcpyAsync(memory, matrix->bytes, matrix->total,
                         cudaMemcpyHostToDevice, stream),
         "cudaMemcpyAsync");
    return memory;
}

static void download(void *to, const void *from, size_t bytes,
                     cudaStream_t stream)
{
    must(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream),
         "cudaMemcpyAsync");
    must(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

/* The library reads some variables when it is loaded and others when a handle
 * is made, so the program sets them and starts itself again. */
static void set_environment(char **argv)
{
    if (getenv("REPRO_STARTED"))
        return;
    for (const char *const *name = repro_unset; *name; name++) {
        size_t length = strlen(*name);
        for (char **at = environ; *at;) {
            char variable[256];
            size_t end = strcspn(*at, "=");
            snprintf(variable, sizeof variable, "%.*s", (int)end, *at);
            if (strncmp(*at, *name, length) == 0 && end < sizeof variable &&
                unsetenv(variable) == 0)
                at = environ;
            else
                at++;
        }
    }
    for (const char *const *pair = repro_set; *pair; pair += 2)
        must(setenv(pair[0], pair[1], 1), "setenv");
    must(setenv("REPRO_STARTED", "1", 1), "setenv");
    execv("/proc/self/exe", argv);
    perror("the program cannot start itself again");
    exit(2);
}

static int describe(cublasHandle_t handle)
{
    struct cudaDeviceProp device;
    int version = 0, driver = 0, runtime = 0;

    must(cudaGetDeviceProperties(&device, 0), "cudaGetDeviceProperties");
    must(cublasGetVersion(handle, &version), "cublasGetVersion");
    must(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
    must(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
    printf("%s\n", REPRO_ID);
    printf("GPU: %s, compute capability %d.%d, %d multiprocessors\n",
           device.name, device.major, device.minor, device.multiProcessorCount);
    printf("cuBLAS %d; CUDA of the driver %d, of the runtime %d\n", version,
           driver, runtime);
    printf("call: %s, %s\n", REPRO_CALL, REPRO_MATH_WORDS);
    for (const char *const *pair = repro_set; *pair; pair += 2)
        printf("environment: %s=%s\n", pair[0], pair[1]);
    return device.major * 10 + device.minor;
}

/* Bytes of the guards and of the padding that are not POISON any more. */
static int64_t touched(const struct matrix *matrix, const unsigned char *bytes)
{
    int64_t count = 0;

    for (size_t i = 0; i < matrix->total; i++)
        count += !matrix->element[i] && bytes[i] != POISON;
    return count;
}

static int64_t changed(const struct matrix *matrix, const void *device,
                       cudaStream_t stream)
{
    unsigned char *now = (unsigned char *)allocate(matrix->total);
    int64_t count = 0;

    download(now, device, matrix->total, stream);
    for (size_t i = 0; i < matrix->total; i++)
        count += now[i] != matrix->bytes[i];
    free(now);
    return count;
}

/* Element of the first difference, for the first few repeats that differ. */
static void say_difference(const struct gp_gemm *gemm, int64_t repeat,
                           const unsigned char *first,
                           const unsigned char *other)
{
    int64_t count = gp_gemm_count(gemm, GP_C), at = 0, different = 0, where = 0;

    for (at = count - 1; at >= 0; at--) {
        if (bits_at(gemm, GP_C, first, at) == bits_at(gemm, GP_C, other, at))
            continue;
        different++;
        where = at;
    }
    printf("  repeat %lld differs from the first in %lld elements: D(%lld, "
           "%lld) of batch %lld is %.17g, was %.17g\n",
           (long long)repeat, (long long)different,
           (long long)(where % gemm->m), (long long)(where / gemm->m % gemm->n),
           (long long)(where / gemm->m / gemm->n),
           gp_type_value(gemm->out, bits_at(gemm, GP_C, other, where)),
           gp_type_value(gemm->out, bits_at(gemm, GP_C, first, where)));
}

/* Multiply REPRO_REPEATS times; `first` receives the first output, `last` the
 * last. Returns how many repeats have other bits than the first. */
static int64_t repeat(const struct gp_gemm *gemm, cublasHandle_t handle,
                      cudaStream_t stream, void *const device[3],
                      const struct matrix *c, unsigned char *first,
                      unsigned char *last)
{
    size_t data = c->total - 2 * GUARD;
    int64_t others = 0;

    for (int64_t r = 0; r < REPRO_REPEATS; r++) {
        unsigned char *d = (unsigned char *)device[GP_C] + GUARD;
        must(cudaMemcpyAsync(d, c->bytes + GUARD, data, cudaMemcpyHostToDevice,
                             stream),
             "cudaMemcpyAsync");
        must(multiply(handle, (unsigned char *)device[GP_A] + GUARD,
                      (unsigned char *)device[GP_B] + GUARD, d),
             "the product");
        download(last, device[GP_C], c->total, stream);
        if (r == 0)
            memcpy(first, last, c->total);
        else if (memcmp(first + GUARD, last + GUARD, data) != 0 &&
                 ++others <= 8)
            say_difference(gemm, r, first, last);
    }
    return others;
}

int main(int argc, char **argv)
{
    struct gp_gemm gemm = repro_gemm();
    bool all = argc > 1 && strcmp(argv[1], "--all") == 0;
    cublasHandle_t handle;
    cudaStream_t stream;
    int capability, finding;
    int64_t others, guards, inputs;
    struct matrix a, b, c;
    unsigned char *first, *last;
    void *device[3];

    set_environment(argv);
    a = make(&gemm, GP_A);
    b = make(&gemm, GP_B);
    c = make(&gemm, GP_C);
    first = (unsigned char *)allocate(c.total);
    last = (unsigned char *)allocate(c.total);
    must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
         "cudaStreamCreateWithFlags");
    must(cublasCreate(&handle), "cublasCreate");
    must(cublasSetStream(handle, stream), "cublasSetStream");
    must(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST),
         "cublasSetPointerMode");
    must(cublasSetMathMode(handle, REPRO_MATH), "cublasSetMathMode");
    capability = describe(handle);
    device[GP_A] = upload(&a, stream);
    device[GP_B] = upload(&b, stream);
    device[GP_C] = upload(&c, stream);
    others = repeat(&gemm, handle, stream, device, &c, first, last);
    print_digest("bits of the first:", &gemm, GP_C, first);
    printf("repeat: %lld of %lld have other bits than the first\n",
           (long long)others, (long long)REPRO_REPEATS);
    finding = judge(&gemm, &a, &b, &c, first, capability, all);
#if REPRO_ONE_TERM
    finding |= fingerprint(&gemm, &a, &b, first);
#endif
    guards = touched(&c, last);
    inputs =
        changed(&a, device[GP_A], stream) + changed(&b, device[GP_B], stream);
    printf("guard: %lld bytes beside D changed, %lld bytes of A and B\n",
           (long long)guards, (long long)inputs);
    finding |= others > 0 || guards > 0 || inputs > 0;
    printf("%s\n", finding ? "The finding shows." : "Nothing wrong shows.");
    must(cublasDestroy(handle), "cublasDestroy");
    return finding;
}
