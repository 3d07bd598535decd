typedef float (*combine_t)(float, float, float);

__device__ float multiplyAdd(float a, float b, float c) { return a * b + c; }
__device__ combine_t chosen = multiplyAdd;

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    combine_t f = chosen;
    if (row < Width && col < Width) {
        float s = 0;
        for (int k = 0; k < Width; ++k) s = f(M[row * Width + k], N[k * Width + col], s);
        P[row * Width + col] = s;
    }
}
