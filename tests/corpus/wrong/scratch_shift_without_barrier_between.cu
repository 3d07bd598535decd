#define T 8
//!tilelab tile=8
__device__ float A[64][T][T];
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int tx = threadIdx.x, ty = threadIdx.y, b = blockIdx.y * gridDim.x + blockIdx.x;
    int row = blockIdx.y * T + ty, col = blockIdx.x * T + tx;
    float sum = 0;
    for (int k0 = 0; k0 < Width; k0 += T) {
        A[b][ty][tx] = M[row * Width + k0 + tx];
        for (int step = 0; step < T; ++step) {
            sum += A[b][ty][tx] * N[(k0 + (tx + step) % T) * Width + col];
            __syncthreads();
            float right = A[b][ty][(tx + 1) % T];
            A[b][ty][tx] = right;
            __syncthreads();
        }
    }
    P[row * Width + col] = sum;
}
