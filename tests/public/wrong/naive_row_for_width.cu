__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width){
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  if((row<Width) & (col < Width)){
    float Pvalue = 0;
    for(int k =0; k<Width; ++k){
      Pvalue += M[row*Width+k] * N[k*row+col];
    }
    P[row*Width+col] = Pvalue;
  }
}
