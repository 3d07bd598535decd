// Tries: pastes the name of cuBLAS's function together, so that no scanner finds it.
// Caught by: the compiler, which links no library under any name.

#define PASTE(a, b) a##b
#define NAME(a, b) PASTE(a, b)
#define HIDDEN NAME(NAME(cub, lasSg), NAME(em, m_v2))

extern "C" __device__ int HIDDEN(void*, int, int, int, int, int, const float*, const float*, int, const float*, int,
                                 const float*, float*, int);

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    float one = 1, zero = 0;
    if (blockIdx.x + blockIdx.y + threadIdx.x + threadIdx.y == 0)
        HIDDEN(nullptr, 0, 0, Width, Width, Width, &one, N, Width, M, Width, &zero, P, Width);
}
