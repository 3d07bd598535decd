//!tilelab block=(32,1) grid=(Width,Width)
__device__ float partial[128 * 128][32];
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int lane = threadIdx.x;
    float* mine = partial[blockIdx.y * Width + blockIdx.x];
    float part = 0;
    for (int k = lane; k < Width; k += 32) part += M[blockIdx.y * Width + k] * N[k * Width + blockIdx.x];
    mine[lane] = part;
    float sum = lane < 16 ? mine[lane] + mine[lane + 16] : 0.0f;
    for (int offset = 8; offset > 0; offset /= 2) {
        sum += __shfl_down_sync(0xffffffff, sum, offset);
        __syncwarp();
    }
    if (lane == 0) P[blockIdx.y * Width + blockIdx.x] = sum;
}
