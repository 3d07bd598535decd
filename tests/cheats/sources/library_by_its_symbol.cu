// Tries: declares cuBLAS's function for the device and calls it.
// Caught by: the compiler, which links no library.

extern "C" __device__ int cublasSgemm_v2(void*, int, int, int, int, int, const float*, const float*, int, const float*,
                                          int, const float*, float*, int);

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    float one = 1, zero = 0;
    if (blockIdx.x + blockIdx.y + threadIdx.x + threadIdx.y == 0)
        cublasSgemm_v2(nullptr, 0, 0, Width, Width, Width, &one, N, Width, M, Width, &zero, P, Width);
}
