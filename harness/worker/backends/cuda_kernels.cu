#include "harness/worker/backends/cuda_kernels.h"

#include "harness/base/hash.h"

// The element that is poisoned in every byte is ~0 in each type; the byte is
// GP_POISON of harness/worker/backend.h, which is not C++.

namespace
{

constexpr int THREADS = 256;
constexpr int BLOCKS_PER_MULTIPROCESSOR = 8;
constexpr int UNROLL = 4;

typedef unsigned long long word;

// A laid out matrix as lines of elements that stand side by side. Element e
// of line l of batch b stands at b*stride + l*ld + e and has the packed index
// b*packed_stride + l*line_step + e*element_step.
struct lines {
    int64_t length, count, batch;
    int64_t ld, stride;
    int64_t packed_stride, line_step, element_step;
};

lines lines_of(const gp_cuda_matrix *matrix)
{
    lines v;

    v.length = matrix->row_major ? matrix->cols : matrix->rows;
    v.count = matrix->row_major ? matrix->rows : matrix->cols;
    v.batch = matrix->batch;
    v.ld = matrix->ld;
    v.stride = matrix->ld * v.count;
    v.packed_stride = matrix->rows * matrix->cols;
    v.line_step = matrix->row_major ? 1 : matrix->rows;
    v.element_step = matrix->row_major ? matrix->rows : 1;
    // Column-major, the columns of all batches are evenly spaced in both
    // forms; without padding they are one line.
    if (!matrix->row_major) {
        v.count *= v.batch;
        v.batch = 1;
        if (v.ld == v.length) {
            v.length *= v.count;
            v.count = 1;
        }
    }
    return v;
}

int64_t blocks_for(int64_t items, int64_t each, int64_t most)
{
    int64_t blocks = (items + each - 1) / each;

    if (most < 1)
        most = 1;
    return blocks < most ? blocks : most;
}

struct shape {
    dim3 grid, block;
};

// Few blocks, the loops of for_each do the rest, and a thread has elements
// enough in a line to unroll the inner one. A block is 32 elements wide where
// lines are long enough, and else as tall as it can be, so that row-major
// packed accesses use whole sectors and short lines do not idle most threads.
cudaError_t shape_for(const lines &v, shape *ret_shape)
{
    int64_t wide = 1, tall = 1, most, x, y, z;
    int device, multiprocessors;
    cudaError_t status = cudaGetDevice(&device);

    if (status == cudaSuccess)
        status = cudaDeviceGetAttribute(&multiprocessors,
                                        cudaDevAttrMultiProcessorCount, device);
    if (status != cudaSuccess)
        return status;
    while (wide < 32 && wide < v.length)
        wide *= 2;
    while (wide * tall < THREADS && tall < v.count)
        tall *= 2;
    wide = THREADS / tall;
    most = (int64_t)multiprocessors * BLOCKS_PER_MULTIPROCESSOR;
    x = blocks_for(v.length, wide * UNROLL, most);
    y = blocks_for(v.count, tall, most / x);
    z = blocks_for(v.batch, 1, most / (x * y));
    ret_shape->grid = dim3((unsigned)x, (unsigned)y, (unsigned)z);
    ret_shape->block = dim3((unsigned)wide, (unsigned)tall, 1);
    return cudaSuccess;
}

// Call f(place, index) for every element, once over the whole grid. Steps are
// added: the loops hold no product and no division.
template <typename F> __device__ void for_each(const lines &v, F f)
{
    const int64_t e_first = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    const int64_t e_jump = (int64_t)gridDim.x * blockDim.x;
    const int64_t l_first = (int64_t)blockIdx.y * blockDim.y + threadIdx.y;
    const int64_t l_jump = (int64_t)gridDim.y * blockDim.y;
    const int64_t place_jump = l_jump * v.ld;
    const int64_t line_jump = l_jump * v.line_step;
    const int64_t element_jump = e_jump * v.element_step;

    for (int64_t b = blockIdx.z; b < v.batch; b += gridDim.z) {
        int64_t place = b * v.stride + l_first * v.ld;
        int64_t start = b * v.packed_stride + l_first * v.line_step +
                        e_first * v.element_step;

        for (int64_t l = l_first; l < v.count; l += l_jump) {
            int64_t index = start;

#pragma unroll UNROLL
            for (int64_t e = e_first; e < v.length; e += e_jump) {
                f(place + e, index);
                index += element_jump;
            }
            place += place_jump;
            start += line_jump;
        }
    }
}

// Reduce over a block of THREADS threads, all of which must call it; the
// result is thread 0's.
template <typename F> __device__ void reduce(word *a, word *b, F combine)
{
    __shared__ word all_a[THREADS], all_b[THREADS];
    const int thread = (int)(threadIdx.y * blockDim.x + threadIdx.x);

    all_a[thread] = *a;
    all_b[thread] = *b;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (thread < half)
            combine(&all_a[thread], &all_b[thread], all_a[thread + half],
                    all_b[thread + half]);
        __syncthreads();
    }
    *a = all_a[0];
    *b = all_b[0];
}

__device__ bool is_thread_0()
{
    return threadIdx.x == 0 && threadIdx.y == 0;
}

struct found {
    word count, not_first;

    __device__ found() : count(0), not_first(0)
    {
    }

    __device__ void add(int64_t at)
    {
        count++;
        if (~(word)at > not_first)
            not_first = ~(word)at;
    }

    __device__ void finish(gp_cuda_tally *tally)
    {
        reduce(&count, &not_first,
               [](word *sum, word *high, word more, word not_at) {
                   *sum += more;
                   if (not_at > *high)
                       *high = not_at;
               });
        if (is_thread_0() && count) {
            atomicAdd(&tally->count, count);
            atomicMax(&tally->not_first, not_first);
        }
    }
};

template <typename T>
__global__ void scatter(lines v, T *laid, const T *__restrict__ packed)
{
    for_each(v, [&](int64_t at, int64_t index) { laid[at] = packed[index]; });
}

template <typename T>
__global__ void gather(lines v, const T *__restrict__ laid, T *packed)
{
    for_each(v, [&](int64_t at, int64_t index) { packed[index] = laid[at]; });
}

template <typename T> __global__ void poison(lines v, T *laid)
{
    for_each(v, [&](int64_t at, int64_t) { laid[at] = (T) ~(T)0; });
}

template <typename T>
__global__ void __launch_bounds__(THREADS)
    digest(lines v, const T *__restrict__ laid, word *lanes)
{
    word lane0 = 0, lane1 = 0;

    for_each(v, [&](int64_t at, int64_t index) {
        const uint64_t bits = laid[at];

        lane0 += gp_hash_lane(0, (uint64_t)index, bits);
        lane1 += gp_hash_lane(1, (uint64_t)index, bits);
    });
    reduce(&lane0, &lane1, [](word *a, word *b, word more_a, word more_b) {
        *a += more_a;
        *b += more_b;
    });
    if (is_thread_0()) {
        atomicAdd(&lanes[0], lane0);
        atomicAdd(&lanes[1], lane1);
    }
}

template <typename T>
__global__ void count_differences(lines v, const T *__restrict__ laid,
                                  const T *__restrict__ packed,
                                  gp_cuda_tally *tally)
{
    found here;

    for_each(v, [&](int64_t at, int64_t index) {
        if (laid[at] != packed[index])
            here.add(index);
    });
    here.finish(tally);
}

template <typename T>
__global__ void count_poisoned(lines v, const T *__restrict__ laid,
                               gp_cuda_tally *tally)
{
    found here;

    for_each(v, [&](int64_t at, int64_t index) {
        if (laid[at] == (T) ~(T)0)
            here.add(index);
    });
    here.finish(tally);
}

// `v` describes bytes: a line is the padding of a line, `skip` bytes after
// the start of that line.
__global__ void count_bytes(lines v, int64_t skip,
                            const unsigned char *__restrict__ bytes,
                            gp_cuda_tally *tally)
{
    found here;

    for_each(v, [&](int64_t at, int64_t) {
        if (bytes[skip + at] != 0xff)
            here.add(skip + at);
    });
    here.finish(tally);
}

__global__ void flip(unsigned char *byte, unsigned char mask)
{
    *byte ^= mask;
}

// Call f with a number of the unsigned type that has that many bytes, and
// the shape of the launch.
template <typename F>
cudaError_t launch(const gp_cuda_matrix *matrix, const lines &v, F f)
{
    shape s;
    cudaError_t status;

    if (v.length == 0 || v.count == 0)
        return cudaSuccess;
    status = shape_for(v, &s);

    if (status != cudaSuccess)
        return status;
    switch (matrix->element_bytes) {
    case 2:
        f((uint16_t)0, s);
        break;
    case 4:
        f((uint32_t)0, s);
        break;
    case 8:
        f((uint64_t)0, s);
        break;
    default:
        return cudaErrorInvalidValue;
    }
    return cudaGetLastError();
}

cudaError_t launch_bytes(const lines &v, int64_t skip, const void *bytes,
                         gp_cuda_tally *tally, cudaStream_t stream)
{
    shape s;
    cudaError_t status;

    if (v.length == 0 || v.count == 0)
        return cudaSuccess;
    status = shape_for(v, &s);
    if (status != cudaSuccess)
        return status;
    count_bytes<<<s.grid, s.block, 0, stream>>>(
        v, skip, (const unsigned char *)bytes, tally);
    return cudaGetLastError();
}

} // namespace

cudaError_t gp_cuda_scatter(const gp_cuda_matrix *matrix, const void *packed,
                            cudaStream_t stream)
{
    const lines v = lines_of(matrix);

    return launch(matrix, v, [&](auto zero, const shape &s) {
        typedef decltype(zero) T;

        scatter<T><<<s.grid, s.block, 0, stream>>>(v, (T *)matrix->data,
                                                   (const T *)packed);
    });
}

cudaError_t gp_cuda_gather(const gp_cuda_matrix *matrix, void *packed,
                           cudaStream_t stream)
{
    const lines v = lines_of(matrix);

    return launch(matrix, v, [&](auto zero, const shape &s) {
        typedef decltype(zero) T;

        gather<T><<<s.grid, s.block, 0, stream>>>(v, (const T *)matrix->data,
                                                  (T *)packed);
    });
}

cudaError_t gp_cuda_poison(const gp_cuda_matrix *matrix, cudaStream_t stream)
{
    const lines v = lines_of(matrix);

    return launch(matrix, v, [&](auto zero, const shape &s) {
        typedef decltype(zero) T;

        poison<T><<<s.grid, s.block, 0, stream>>>(v, (T *)matrix->data);
    });
}

cudaError_t gp_cuda_digest(const gp_cuda_matrix *matrix,
                           unsigned long long lanes[2], cudaStream_t stream)
{
    const lines v = lines_of(matrix);

    return launch(matrix, v, [&](auto zero, const shape &s) {
        typedef decltype(zero) T;

        digest<T>
            <<<s.grid, s.block, 0, stream>>>(v, (const T *)matrix->data, lanes);
    });
}

cudaError_t gp_cuda_count_differences(const gp_cuda_matrix *matrix,
                                      const void *packed, gp_cuda_tally *tally,
                                      cudaStream_t stream)
{
    const lines v = lines_of(matrix);

    return launch(matrix, v, [&](auto zero, const shape &s) {
        typedef decltype(zero) T;

        count_differences<T><<<s.grid, s.block, 0, stream>>>(
            v, (const T *)matrix->data, (const T *)packed, tally);
    });
}

cudaError_t gp_cuda_count_poisoned(const gp_cuda_matrix *matrix,
                                   gp_cuda_tally *tally, cudaStream_t stream)
{
    const lines v = lines_of(matrix);

    return launch(matrix, v, [&](auto zero, const shape &s) {
        typedef decltype(zero) T;

        count_poisoned<T>
            <<<s.grid, s.block, 0, stream>>>(v, (const T *)matrix->data, tally);
    });
}

cudaError_t gp_cuda_count_padding(const gp_cuda_matrix *matrix,
                                  gp_cuda_tally *tally, cudaStream_t stream)
{
    const int64_t bytes = matrix->element_bytes;
    const int64_t length = matrix->row_major ? matrix->cols : matrix->rows;
    const int64_t count = matrix->row_major ? matrix->rows : matrix->cols;
    lines v = {};

    if (matrix->ld == length)
        return cudaSuccess;
    // The lines of all batches are evenly spaced in either layout.
    v.length = (matrix->ld - length) * bytes;
    v.count = count * matrix->batch;
    v.batch = 1;
    v.ld = matrix->ld * bytes;
    return launch_bytes(v, length * bytes, matrix->data, tally, stream);
}

cudaError_t gp_cuda_count_bytes(const void *bytes, size_t count,
                                gp_cuda_tally *tally, cudaStream_t stream)
{
    lines v = {};

    v.length = (int64_t)count;
    v.count = 1;
    v.batch = 1;
    return launch_bytes(v, 0, bytes, tally, stream);
}

cudaError_t gp_cuda_flip(void *byte, unsigned char mask, cudaStream_t stream)
{
    flip<<<1, 1, 0, stream>>>((unsigned char *)byte, mask);
    return cudaGetLastError();
}
