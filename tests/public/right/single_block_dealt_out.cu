#ifndef A_HEIGHT
#define A_HEIGHT 16
#endif
#ifndef A_WIDTH
#define A_WIDTH 4
#endif
#ifndef B_WIDTH
#define B_WIDTH 16
#endif
__device__ float d_A[A_HEIGHT * A_WIDTH];
__device__ float d_B[A_WIDTH * B_WIDTH];
__device__ float d_C[A_HEIGHT * B_WIDTH];
__global__ void matrixMulCUDASingleBlock() {
    __shared__ float a[A_HEIGHT * A_WIDTH], b[A_WIDTH * B_WIDTH];
    const int t = threadIdx.y * blockDim.x + threadIdx.x, all = blockDim.x * blockDim.y;
    for (int i = t; i < A_HEIGHT * A_WIDTH; i += all) a[i] = d_A[i];
    for (int i = t; i < A_WIDTH * B_WIDTH; i += all) b[i] = d_B[i];
    __syncthreads();
    float v = 0;
    for (int k = 0; k < A_WIDTH; k++) v += a[threadIdx.y * A_WIDTH + k] * b[k * B_WIDTH + threadIdx.x];
    d_C[t] = v;
}
